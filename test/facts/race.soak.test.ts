import { expect, test } from 'vitest'
import { race, read, type Swapped, write } from './race.ts'

const swaps: readonly Swapped[] = ['directory', 'file']
const kinds = [
  ['writes', write],
  ['reads', read],
] as const

test.each(swaps.flatMap(swapped => kinds.map(([name, attempt]) => [swapped, name, attempt] as const)))(
  'a %s swapped for a link that leads out: 10,000 racing %s touch nothing outside',
  async (swapped, name, attempt) => {
    const report = await race(10_000, swapped, attempt)
    console.log(`${name}, ${swapped} swapped: ${JSON.stringify(report)}`)
    expect(report.outside).toBe(0)
    expect(report.done).toBeGreaterThan(0)
    expect(report.refused).toBeGreaterThan(0)
  },
)
