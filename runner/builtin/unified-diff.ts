import { createTwoFilesPatch } from 'diff'

/** More edits than this are shown as the whole old text and the whole new one: nothing is left out, only not aligned. */
const maxEdits = 5_000

/** A unified diff of one file; empty when both texts are the same. `before` null = there was no file. */
export function unifiedDiff(path: string, before: string | null, after: string): string {
  if (before === after) return ''
  const from = before === null ? '/dev/null' : `a/${path}`
  const patch = createTwoFilesPatch(from, `b/${path}`, before ?? '', after, undefined, undefined, {
    context: 3,
    maxEditLength: maxEdits,
    timeout: 2_000,
  })
  return patch === undefined ? wholeReplacement(from, path, before ?? '', after) : patch.replace(/^=+\n/, '')
}

function wholeReplacement(from: string, path: string, before: string, after: string): string {
  const old = lines(before)
  const fresh = lines(after)
  const header = `--- ${from}\n+++ b/${path}\n@@ -${old.length === 0 ? 0 : 1},${old.length} +${fresh.length === 0 ? 0 : 1},${fresh.length} @@\n`
  const side = (sign: string, text: string, all: string[]) =>
    all.map(line => `${sign}${line}\n`).join('') +
    (text !== '' && !text.endsWith('\n') ? '\\ No newline at end of file\n' : '')
  return header + side('-', before, old) + side('+', after, fresh)
}

function lines(text: string): string[] {
  if (text === '') return []
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
}
