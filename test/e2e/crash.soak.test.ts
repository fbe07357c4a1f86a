import { expect, test } from 'vitest'
import { expectMidRun, killActions, killCommandLines } from './crash/kills.ts'
import { killsOf } from './crash/tally.ts'

/** AGENTCTL_KILLS and AGENTCTL_SEED for another count and other points. */
const kills = Number(process.env['AGENTCTL_KILLS'] ?? 500)
const seed = Number(process.env['AGENTCTL_SEED'] ?? Date.now() % 100_000)

test(`${kills} kill -9 of command line and Action: no effect lost or doubled`, async () => {
  const ofAction = Math.ceil(kills / 4)
  const commandLine = await killCommandLines(kills - ofAction, seed)
  expectMidRun(commandLine, kills - ofAction)
  const action = await killActions(ofAction, seed)
  expectMidRun(action, ofAction)
  expect(killsOf(commandLine) + killsOf(action)).toBeGreaterThanOrEqual(kills)
  if (kills >= 50) expect(commandLine.uncertain + action.uncertain).toBeGreaterThan(0)
})
