import { expect, test } from 'vitest'
import { race } from './race.ts'

test('a secret file and its directory swapped for links that lead out: 100,000 racing reads, none from outside', async () => {
  expect((await race(100_000)).outside).toBe(0)
}, 300_000)
