/** How a run's jobs are stopped from outside. */
export class RunStop {
  readonly #cancel = new AbortController()
  readonly #force = new AbortController()

  /** POST .../cancel, a newer run of its concurrency group, the end of the double. */
  cancel(): void {
    this.#cancel.abort()
  }

  /** POST .../force-cancel: also what an `always()` would keep going. */
  force(): void {
    this.#force.abort()
    this.#cancel.abort()
  }

  get cancelled(): AbortSignal {
    return this.#cancel.signal
  }

  get forced(): AbortSignal {
    return this.#force.signal
  }
}

/** How one running job is stopped. */
export interface JobStop {
  /** The runner was told to cancel the job. */
  cancelled: AbortSignal
  /** No condition keeps a step any more. */
  forced: AbortSignal
  /** The runner is gone: nothing more is started, nothing more is heard of it. */
  lost: AbortSignal
}

/** What a lost runner leaves of the step's process: nothing, or all of it, with nobody who reads its output. */
export type Loss = 'machine' | 'runner'
