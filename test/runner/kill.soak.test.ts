import { expect, test } from 'vitest'
import { killAtRandom } from './kill.ts'

test('500 kill -9 at random points: no effect lost or doubled', async () => {
  let kills = 0
  while (kills < 500) kills += (await killAtRandom(100)).kills
  expect(kills).toBeGreaterThanOrEqual(500)
})
