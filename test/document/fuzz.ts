import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { build } from './support.ts'

/** A small generator of its own, so that a seed number alone repeats a find. */
function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const folder = new URL('seeds/', import.meta.url)

/** Documents that fuzzing starts from; finds are added here. */
export function seeds(): { name: string; text: string }[] {
  return readdirSync(folder).map(name => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }))
}

const tokens = [
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
  '"',
  "'",
  '#',
  '%',
  '\n',
  '\n  ',
  '\t',
  '~',
  '---\n',
  '...\n',
  '${{ ',
  ' }}',
  'tasks.',
  '__proto__',
  '0x',
  '1e999',
  '9007199254740993',
  '\u0000',
  '\ud800',
  '\ufeff',
  'é',
  '😀',
]

/** A text near to the given ones: pieces moved, doubled, cut, and tokens put in. */
export function mutate(texts: readonly string[], seed: number): string {
  const next = random(seed)
  const below = (count: number): number => Math.floor(next() * count)
  let text = texts[below(texts.length)] ?? ''
  for (let change = below(6) + 1; change > 0; change--) {
    const at = below(text.length + 1)
    const length = below(40)
    const kind = below(5)
    if (kind === 0) text = text.slice(0, at) + text.slice(at + length)
    else if (kind === 1) text = text.slice(0, at) + (tokens[below(tokens.length)] ?? '') + text.slice(at)
    else if (kind === 2) text = text.slice(0, at) + text.slice(at, at + length).repeat(below(4)) + text.slice(at)
    else if (kind === 3) {
      const other = texts[below(texts.length)] ?? ''
      const from = below(other.length)
      text = text.slice(0, at) + other.slice(from, from + length * 4) + text.slice(at)
    } else text = text.slice(0, at) + String.fromCharCode(below(128)) + text.slice(at + 1)
  }
  return text
}

/** What must hold for any text at all: an answer, never an exception, and each finding with a place in the text. */
export function holds(text: string): void {
  const { plan, diagnostics } = build(text)
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  expect(plan === null).toBe(errors.length > 0)
  expect(errors.length).toBeLessThanOrEqual(100)
  const lines = text.split('\n')
  for (const { line, column, message } of diagnostics) {
    expect(message).not.toBe('')
    expect(line).toBeGreaterThanOrEqual(1)
    expect(line).toBeLessThanOrEqual(lines.length)
    expect(column).toBeGreaterThanOrEqual(1)
    expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1)
  }
  if (plan !== null) expect(build(text).plan?.planDigest).toBe(plan.planDigest)
}

/** Mutates for so long, from a first seed number on; a failure names the number and the text. */
export function fuzz(milliseconds: number, first: number): number {
  const texts = seeds().map(({ text }) => text)
  const end = performance.now() + milliseconds
  let seed = first
  for (; performance.now() < end; seed++) {
    const text = mutate(texts, seed)
    try {
      holds(text)
    } catch (error) {
      throw new Error(`seed ${seed}: ${JSON.stringify(text)}`, { cause: error })
    }
  }
  return seed - first
}
