import { expect, test } from 'vitest'
import { killActions, killCommandLines } from './crash/kills.ts'
import { killsOf } from './crash/tally.ts'

/** Every promise is checked within; the counts that matter are in crash.soak.test.ts. */
const seed = Number(process.env['AGENTCTL_SEED'] ?? 1)

test('kill -9 of the command line at seeded points: every effect once, every file, the chain verifies', async () => {
  expect(killsOf(await killCommandLines(8, seed))).toBe(8)
})

test('kill -9 of the Action at seeded points: every effect once, every file, the chain verifies', async () => {
  expect(killsOf(await killActions(5, seed))).toBe(5)
})
