import { expect, it } from 'vitest'
import { holds } from './fuzz/holds.ts'
import { fuzz } from './fuzz/run.ts'
import { seeds } from './fuzz/seeds.ts'

it.each(seeds().map(({ name, text }) => [name, text]))('%s', (_, text) => {
  holds(text)
})

it('answers any document near to these, the text or the tree of one changed', async () => {
  expect(await fuzz({ first: 1, count: 600 })).toBe(600)
})
