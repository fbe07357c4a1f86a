import { styleText } from 'node:util'
import { withoutHidden } from '../../policy/hidden.ts'

export type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green' | 'cyan'

/** A piece of a line: plain text, or text in a style. Text comes from anywhere; it is made harmless when it is rendered. */
export type Part = string | readonly [Style, string]
export type Line = string | readonly Part[]

/** Lines as the terminal gets them, each with its line end. */
export function render(lines: readonly Line[], colour: boolean): string {
  return lines.map(line => `${renderLine(typeof line === 'string' ? [line] : line, colour)}\n`).join('')
}

function renderLine(parts: readonly Part[], colour: boolean): string {
  return parts
    .map(part => {
      if (typeof part === 'string') return visible(part)
      const text = visible(part[1])
      return colour ? styleText(part[0], text, { validateStream: false }) : text
    })
    .join('')
}

/**
 * Shows what would move the cursor, change colours, reorder text or not be seen: a document, a path or a diff could
 * otherwise hide from the person at the terminal what they decide on. Line ends and tabs stay.
 */
export function visible(text: string): string {
  return withoutHidden(text, true)
}

/** Whether a stream gets colours: as asked, else where it is a terminal that has them and NO_COLOR is not set. */
export function usesColour(choice: 'auto' | 'always' | 'never', stream: NodeJS.WriteStream): boolean {
  if (choice !== 'auto') return choice === 'always'
  return stream.isTTY === true && stream.hasColors()
}

/** The lines of a diff, added and removed ones coloured. */
export function diffLines(diff: string, indent = '  '): Line[] {
  return diff
    .replace(/\n$/, '')
    .split('\n')
    .map(line => {
      const style: Style | null = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : null
      return style === null ? `${indent}${line}` : [indent, [style, line]]
    })
}
