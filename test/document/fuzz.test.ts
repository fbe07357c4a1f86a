import { expect, it } from 'vitest'
import { fuzz, holds, seeds } from './fuzz.ts'

it.each(seeds().map(({ name, text }) => [name, text]))('%s', (_, text) => {
  holds(text)
})

it('answers any text near to a document', () => {
  expect(fuzz(4_000, 1)).toBeGreaterThan(50)
})
