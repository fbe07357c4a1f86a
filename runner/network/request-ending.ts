import { GuardedError, networkFault } from './network-fault.ts'

/** Node's timers hold no longer wait. */
const deadlineMsMax = 2_147_483_647

/** What ends a request from outside: its total deadline and its caller. */
export interface Ending {
  /** Its reason is a GuardedError. */
  signal: AbortSignal
  /** Nothing can end it any more. */
  clear(): void
}

/** Starts the deadline. Throws a GuardedError for one that is no time. */
export function endingOf(origin: string, deadlineMs: number, caller: AbortSignal | undefined): Ending {
  if (!(deadlineMs > 0 && deadlineMs <= deadlineMsMax)) {
    const message = `request_deadline refuses ${origin}: the deadline is no time; give whole milliseconds from 1 to ${deadlineMsMax}`
    throw new GuardedError(networkFault('refused', 'request_deadline', message))
  }
  const controller = new AbortController()
  const end = (code: 'deadline' | 'cancelled', message: string) =>
    controller.abort(new GuardedError(networkFault(code, code, message)))
  const late = `${origin}: no complete answer within ${deadlineMs / 1000} s; give it more time, or ask the server for less`
  const timer = setTimeout(() => end('deadline', late), deadlineMs)
  const cancel = () => end('cancelled', `${origin}: the request was cancelled by its caller`)
  caller?.addEventListener('abort', cancel, { once: true })
  if (caller?.aborted) cancel()
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      caller?.removeEventListener('abort', cancel)
    },
  }
}
