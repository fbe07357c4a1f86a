import { type Pick, picker } from './random.ts'

const tokens = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ':',
    ': ',
    '- ',
    '? ',
    ',',
    '&a ',
    '*a',
    '<<: *a',
    '!x ',
    '| ',
    '> ',
    '|2-\n',
    '"',
    "'",
    '#',
    '%',
  ],
  ...[
    '\n',
    '\n  ',
    '\r\n',
    '\t',
    '~',
    '---\n',
    '...\n',
    '${{ ',
    ' }}',
    'tasks.',
    '__proto__',
    '0x',
    '0o7',
    '1e999',
    '.inf',
  ],
  ...['9007199254740993', '-0', '\u0000', '\ud800', '\ufeff', '\u2028', 'é', '😀'],
]

/** A text near to the given ones: pieces moved, doubled, cut, and tokens put in. */
export function mutateText(texts: readonly string[], pick: Pick): string {
  let text = pick.one(texts) ?? ''
  for (let change = pick.below(6) + 1; change > 0; change--) text = changed(text, texts, pick)
  return text
}

function changed(text: string, texts: readonly string[], pick: Pick): string {
  const at = pick.below(text.length + 1)
  const length = pick.below(40)
  switch (pick.below(5)) {
    case 0:
      return text.slice(0, at) + text.slice(at + length)
    case 1:
      return text.slice(0, at) + (pick.one(tokens) ?? '') + text.slice(at)
    case 2:
      return text.slice(0, at) + text.slice(at, at + length).repeat(pick.below(4)) + text.slice(at)
    case 3: {
      const other = pick.one(texts) ?? ''
      const from = pick.below(other.length)
      return text.slice(0, at) + other.slice(from, from + length * 4) + text.slice(at)
    }
    default:
      return text.slice(0, at) + String.fromCharCode(pick.below(128)) + text.slice(at + 1)
  }
}

/** The text of a seed number. */
export function textOf(texts: readonly string[], seed: number): string {
  return mutateText(texts, picker(seed))
}
