/** One call that reached the double. */
export interface LoggedRequest {
  /** Operation (`GET /repos/{owner}/{repo}`), or method and path where it is none. */
  route: string
  method: string
  path: string
  query: { readonly [name: string]: string }
  body: unknown
  status: number
  /** `app`, `installation`, `job 123`, `user alice`, `anonymous`. */
  caller: string
  at: Date
}

/** Every call in order of arrival, with counts: what a budget of API calls is asserted on. */
export class RequestLog {
  readonly all: LoggedRequest[] = []

  add(request: LoggedRequest): void {
    this.all.push(request)
  }

  /** Calls of one route, or of all. */
  count(route?: string): number {
    return route === undefined ? this.all.length : this.of(route).length
  }

  of(route: string): LoggedRequest[] {
    return this.all.filter(request => request.route === route)
  }

  /** Number of calls by route. */
  counts(): { [route: string]: number } {
    const counts: { [route: string]: number } = {}
    for (const { route } of this.all) counts[route] = (counts[route] ?? 0) + 1
    return counts
  }

  /** The last calls as text, for a failing wait. */
  tail(count = 15): string {
    return this.all
      .slice(-count)
      .map(r => `  ${r.caller}: ${r.method} ${r.path} -> ${r.status}`)
      .join('\n')
  }

  clear(): void {
    this.all.length = 0
  }
}
