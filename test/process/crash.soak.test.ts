import { expect, test } from 'vitest'
import { killAtRandom } from './agentctl.ts'
import { kinds } from './support.ts'

test.each(kinds)('%s: killed 100 times at random moments, nothing is ever left', async kind => {
  for (let round = 0; round < 100; round += 1) expect(await killAtRandom(kind)).toEqual({ left: [], entries: [] })
})
