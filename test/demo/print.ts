import { styleText } from 'node:util'

/** Heading of the next part of the story. */
export function scene(title: string): void {
  process.stdout.write(`\n${styleText('bold', title)}\n`)
}

/** One plain line. */
export function line(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** What a program or a person wrote, set off from our own words. */
export function indented(text: string): void {
  process.stdout.write(`${text.trimEnd().replaceAll(/^/gm, '    | ')}\n`)
}
