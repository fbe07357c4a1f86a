import { readFileSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { race } from './race.ts'

test('a secret file and its directory swapped for links that lead out: 10,000 racing reads, none from outside', async () => {
  const { outside, read, refused } = await race(10_000)
  expect(outside).toBe(0)
  // Both sides of the race were met.
  expect(read).toBeGreaterThan(0)
  expect(Object.keys(refused).length).toBeGreaterThan(0)
  for (const cause of Object.keys(refused))
    expect([
      'secretFileRoots',
      'not_found',
      'dangling_symlink',
      'file_changed',
      'symlink_loop',
      'not_directory',
    ]).toContain(cause)
})

test('check, then read by the path, does read from outside: the race is one', async () => {
  const naive = (place: string) => {
    try {
      return path.basename(path.dirname(realpathSync(place))) === 'inner' ? readFileSync(place, 'utf8') : null
    } catch {
      return null
    }
  }
  let outside = 0
  for (let round = 0; round < 10 && outside === 0; round += 1) outside += (await race(2_000, naive)).outside
  expect(outside).toBeGreaterThan(0)
})
