import { expect, test } from 'vitest'
import { killAtRandom } from './kill.ts'

/** AGENTCTL_KILLS for a shorter look. */
const wanted = Number(process.env['AGENTCTL_KILLS'] ?? 500)

test(`${wanted} kill -9 at random points: no effect lost or doubled`, async () => {
  let kills = 0
  let uncertain = 0
  while (kills < wanted) {
    const run = await killAtRandom(150)
    kills += run.kills
    uncertain += run.uncertain
  }
  expect(kills).toBeGreaterThanOrEqual(wanted)
  // Some deaths must have hit an effect, or this shows nothing.
  if (wanted >= 50) expect(uncertain).toBeGreaterThan(0)
})
