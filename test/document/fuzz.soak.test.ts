import { expect, it } from 'vitest'
import { fuzz } from './fuzz.ts'

it('answers any text near to a document, for a minute from a new start each day', () => {
  const day = Math.floor(Date.now() / 86_400_000)
  expect(fuzz(60_000, day * 1_000_000)).toBeGreaterThan(1000)
})
