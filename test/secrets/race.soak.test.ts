import { expect, test } from 'vitest'
import { race } from './race.ts'

test('a secret file and its directory swapped for links that lead out: 20,000 racing reads, none from outside', async () => {
  expect((await race(20_000)).outside).toBe(0)
}, 300_000)
