import { expect, test } from 'vitest'
import { race } from './race.ts'

test('a directory swapped for a link that leads out: 1,000 racing writes, none outside', async () => {
  const report = await race(1_000)
  expect(report.outside).toBe(0)
  expect(report.done).toBeGreaterThan(0)
  expect(report.refused).toBeGreaterThan(0)
})
