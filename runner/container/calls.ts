import { setTimeout as sleep } from 'node:timers/promises'
import { EngineFault } from './engine.ts'

/** Answers what `act` does, or an EngineFault: of what it threw, or once it took longer than `milliseconds`. */
export async function bounded<T>(
  what: string,
  milliseconds: number,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const aborting = new AbortController()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(new EngineFault(null, 'ETIMEDOUT', `${what}: no answer within ${milliseconds / 1_000} s`))
    aborting.abort()
  }, milliseconds)
  try {
    return await Promise.race([act(aborting.signal), late.promise])
  } catch (error) {
    throw faultOf(what, error)
  } finally {
    clearTimeout(timer)
  }
}

/** What it answers in time; null where it does not, or fails. */
export async function within<T>(milliseconds: number, act: Promise<T>): Promise<T | null> {
  const late = new AbortController()
  const answer = act.then(
    value => value,
    () => null,
  )
  const timer = sleep(milliseconds, null, { signal: late.signal }).catch(() => null)
  const first = await Promise.race([answer, timer])
  late.abort()
  return first
}

/** Whatever a client threw, told as the engine's fault. */
export function faultOf(what: string, error: unknown): EngineFault {
  if (error instanceof EngineFault) return error
  const status = field(error, 'statusCode')
  const code = field(error, 'code')
  const told = messageOf(field(error, 'json')) ?? (error instanceof Error ? error.message : String(error))
  return new EngineFault(
    typeof status === 'number' ? status : null,
    typeof code === 'string' ? code : '',
    `${what}: ${told.trim()}`,
    { cause: error },
  )
}

function messageOf(body: unknown): string | null {
  const message = field(body, 'message') ?? field(body, 'cause')
  return typeof message === 'string' && message !== '' ? message : null
}

function field(of: unknown, name: string): unknown {
  return typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined
}
