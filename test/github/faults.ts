import type { LoggedRequest } from './requests.ts'

/** What to do to matching calls instead of, or before, serving them. */
export interface Fault {
  /** Operation as in GitHub's description, for example `POST /repos/{owner}/{repo}/issues`; `graphql`, `oidc`; or a test of the call. Missing: every call. */
  route?:
    | string
    | ((request: Pick<LoggedRequest, 'route' | 'method' | 'path' | 'query' | 'body' | 'caller'>) => boolean)
  /** How many matching calls it meets. Default 1. */
  times?: number
  /** Matching calls that pass unharmed first. Default 0. */
  after?: number
  /** Answer with this status, without doing anything. */
  status?: number
  message?: string
  headers?: { readonly [name: string]: string }
  /** Close the connection without an answer; `after` does the work first, so that the caller cannot know. */
  drop?: 'before' | 'after'
  /** Wait this long before serving. */
  delayMs?: number
  /** Lists answer in an order that is none: still every item once over all pages. */
  shuffle?: boolean
  /** Lists leave out what this says yes to, as one that lags behind the newest writes does. */
  omit?: (item: unknown) => boolean
}

/** Programmed failures, first added first tried; each counts down as it is met. */
export class Faults {
  readonly #faults: { fault: Fault; skip: number; left: number }[] = []

  add(fault: Fault): void {
    this.#faults.push({ fault, skip: fault.after ?? 0, left: fault.times ?? 1 })
  }

  /** GitHub's secondary limit on the next matching calls; null leaves Retry-After out, as GitHub sometimes does. */
  secondaryLimit(
    fault: Pick<Fault, 'route' | 'times' | 'after'> & { retryAfterSeconds: number | null; status?: 403 | 429 },
  ): void {
    const { retryAfterSeconds, status = 403, ...rest } = fault
    this.add({
      ...rest,
      status,
      message: 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.',
      ...(retryAfterSeconds !== null && { headers: { 'retry-after': String(retryAfterSeconds) } }),
    })
  }

  clear(): void {
    this.#faults.length = 0
  }

  /** Faults not yet fully met; a test that programmed them may want none left. */
  get pending(): readonly Fault[] {
    return this.#faults.map(({ fault }) => fault)
  }

  /** The fault that meets this call, counted down. */
  take(request: Pick<LoggedRequest, 'route' | 'method' | 'path' | 'query' | 'body' | 'caller'>): Fault | null {
    for (const entry of this.#faults) {
      const { route } = entry.fault
      if (typeof route === 'string' ? route !== request.route : route !== undefined && !route(request)) continue
      if (entry.skip > 0) {
        entry.skip--
        continue
      }
      entry.left--
      if (entry.left <= 0) this.#faults.splice(this.#faults.indexOf(entry), 1)
      return entry.fault
    }
    return null
  }
}
