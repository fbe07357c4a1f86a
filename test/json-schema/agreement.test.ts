import { expect, it } from 'vitest'
import { agree } from './agree.ts'

it('agrees with ajv on random small schemas and values', () => {
  const { accepted, checked } = agree(500)
  expect(checked).toBeGreaterThan(500)
  // A generator of which nothing, or everything, is accepted would prove little.
  expect(accepted / checked).toBeGreaterThan(0.1)
  expect(accepted / checked).toBeLessThan(0.9)
})
