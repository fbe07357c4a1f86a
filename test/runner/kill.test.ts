import { expect, test } from 'vitest'
import { killAtRandom } from './kill.ts'

test('kill -9 at random points: each effect ran once or was uncertain, every file is there, the chain verifies', async () => {
  let kills = 0
  while (kills < 2) kills += (await killAtRandom(100)).kills
  expect(kills).toBeGreaterThanOrEqual(2)
})
