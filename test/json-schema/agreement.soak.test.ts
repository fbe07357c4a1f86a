import { expect, it } from 'vitest'
import { agree } from './agree.ts'

it('agrees with ajv on many random small schemas and values', () => {
  expect(agree(10_000).checked).toBeGreaterThan(10_000)
})
