import type { Pace } from './pace.ts'

/** A task that says nothing for so long is said to be still running. */
const silenceMs = 60_000

interface Running {
  since: number
  /** When it, or the line about it, was last seen in the log. */
  heard: number
  stop(): void
}

/** Says once a minute that a silent task is still running. */
export class StillRunning {
  readonly #pace: Pace
  readonly #say: (text: string) => void
  readonly #tasks = new Map<string, Running>()

  constructor(pace: Pace, say: (text: string) => void) {
    this.#pace = pace
    this.#say = say
  }

  started(task: string): void {
    this.ended(task)
    const now = this.#pace.now()
    const running: Running = { since: now, heard: now, stop: () => {} }
    this.#tasks.set(task, running)
    this.#watch(task, running, silenceMs)
  }

  /** Cheap: output may come in many pieces. */
  heard(task: string): void {
    const running = this.#tasks.get(task)
    if (running !== undefined) running.heard = this.#pace.now()
  }

  ended(task: string): void {
    this.#tasks.get(task)?.stop()
    this.#tasks.delete(task)
  }

  endAll(): void {
    for (const task of [...this.#tasks.keys()]) this.ended(task)
  }

  #watch(task: string, running: Running, milliseconds: number): void {
    running.stop = this.#pace.after(milliseconds, () => {
      const now = this.#pace.now()
      const left = running.heard + silenceMs - now
      if (left > 0) return this.#watch(task, running, left)
      running.heard = now
      this.#say(`${task} still running, ${Math.floor((now - running.since) / 60_000)} min`)
      this.#watch(task, running, silenceMs)
    })
  }
}
