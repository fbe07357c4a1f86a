import { expect, it } from 'vitest'
import { agreeOnMutations, agreeOnPieces, agreeOnValues } from './both-ways.ts'

it('both ways of reading agree on many more texts', () => {
  expect(agreeOnMutations(60_000)).toBeGreaterThan(1000)
  agreeOnPieces(400_000)
  expect(agreeOnValues(60_000)).toBeGreaterThan(10_000)
})
