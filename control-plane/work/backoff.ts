import type { Clock, Ids } from '../../policy/ports.ts'

const firstMs = 10_000
const mostMs = 30 * 60_000

/** ISO time of the next try after `attempts` failed ones: 10 s, then four times as long each, up to half an hour, with jitter. */
export function retryTime(context: { clock: Clock; ids: Ids }, attempts: number): string {
  const base = Math.min(firstMs * 4 ** attempts, mostMs)
  const jitter = ((context.ids.bytes(1)[0] ?? 0) / 255) * (base / 4)
  return inMs(context.clock, base + jitter)
}

/** ISO time so many milliseconds from now. */
export function inMs(clock: Clock, milliseconds: number): string {
  return new Date(clock.now().getTime() + milliseconds).toISOString()
}

/** The later of two ISO times. */
export function later(left: string, right: string | null): string {
  return right !== null && right > left ? right : left
}

/** The earlier of two due times, either of which may be absent. */
export function earlier(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right
  return left < right ? left : right
}
