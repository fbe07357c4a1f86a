import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Attempt, race, read, type Swapped, write } from './race.ts'

const swaps: readonly Swapped[] = ['directory', 'file']

describe.each(swaps)('a %s swapped for a link that leads out', swapped => {
  test.each([
    ['writes', write],
    ['reads', read],
  ])('1,000 racing %s touch nothing outside', async (_, attempt) => {
    const { outside, done, refused } = await race(1_000, swapped, attempt)
    expect(outside).toBe(0)
    // Both sides of the race were met.
    expect(done).toBeGreaterThan(0)
    expect(refused).toBeGreaterThan(0)
  })
})

/** Looks where the path leads, then uses the path: what the walk is measured against. */
const naive =
  (use: (file: string) => string): Attempt =>
  ({ root }, file) => {
    try {
      if (!realpathSync(file).startsWith(path.join(root, 'out'))) return null
      return use(file) === 'outside' ? 'outside' : 'inside'
    } catch {
      return null
    }
  }

test.each<[Swapped, string, Attempt]>([
  ['directory', 'read', naive(file => readFileSync(file, 'utf8'))],
  ['file', 'read', naive(file => readFileSync(file, 'utf8'))],
  ['directory', 'write', naive(file => String(writeFileSync(file, 'naive')))],
  ['file', 'write', naive(file => String(writeFileSync(file, 'naive')))],
])('the race is one: check a %s, then %s by the path, does touch what stands outside', async (swapped, _, attempt) => {
  let outside = 0
  for (let round = 0; round < 20 && outside === 0; round += 1) outside += (await race(2_000, swapped, attempt)).outside
  expect(outside).toBeGreaterThan(0)
})
