import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** One line of the speed table (spec: ratios measured in one run on one machine). */
export interface BenchRow {
  /** Name for `npm run bench -- NAME`. */
  name: string
  what: string
  against: string
  /** As the goal is stated, `<= 1.25x`. */
  goal: string
  /** Median of what over median of against, or the count or microseconds that the goal speaks of. */
  ratio: number
  /** Both medians with units, and how many pairs. */
  detail: string
}

/** Middle of the sorted values; the mean of the two middle ones for an even count. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/**
 * Runs both sides in turn, so that a drift of the machine's speed meets both alike.
 * Times are milliseconds; the first pair is a warm-up and not counted.
 */
export async function pairs(
  count: number,
  subject: () => unknown,
  peer: () => unknown,
): Promise<{ subject: number; peer: number; ratio: number }> {
  const times: { subject: number[]; peer: number[] } = { subject: [], peer: [] }
  for (let round = 0; round <= count; round++) {
    const first = await time(subject)
    const second = await time(peer)
    if (round === 0) continue
    times.subject.push(first)
    times.peer.push(second)
  }
  const result = { subject: median(times.subject), peer: median(times.peer) }
  return { ...result, ratio: result.subject / result.peer }
}

async function time(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** What the table was measured on, for its heading. */
export function machine(): string {
  const memory = /MemTotal:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1] ?? '0'
  return `${process.platform} ${process.arch}, ${cpus().length} cores, ${Math.round(Number(memory) / 1_048_576)} GiB, Node ${process.version}`
}
