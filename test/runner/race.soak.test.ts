import { expect, test } from 'vitest'
import { race, writeThenVerify } from './race.ts'

test('a directory swapped for a link that leads out: 10,000 racing writes, none outside', async () => {
  const report = await race(10_000)
  expect(report.outside).toBe(0)
  expect(report.done).toBeGreaterThan(0)
})

test('the race is one: writing by path and verifying afterwards loses it', async () => {
  expect((await race(100_000, writeThenVerify)).outside).toBeGreaterThan(0)
})
