import { expect, it } from 'vitest'
import { fuzz } from './fuzz/run.ts'

it('answers any document near to these for a minute of CPU, from a new start each day', async () => {
  const first = (Math.floor(Date.now() / 86_400_000) * 100_000) % 0x7000_0000
  expect(await fuzz({ first, cpu: 60_000 })).toBeGreaterThan(1_000)
})
