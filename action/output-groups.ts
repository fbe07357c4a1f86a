import { endGroup, startGroup } from '@actions/core'
import type { JobLog } from './job-log.ts'

/** Output that waits for its group, in characters over all tasks; more is shown in groups as it stands. */
const mostWaiting = 4 * 1_048_576

/**
 * Child output in groups of the log, one task in each. The log has one open group at most: the task that has it is shown
 * as it speaks, what others say meanwhile waits until that group ends.
 */
export class OutputGroups {
  readonly #log: JobLog
  readonly #waiting = new Map<string, string[]>()
  readonly #shown = new Set<string>()
  #waitingLength = 0
  #open: string | null = null

  constructor(log: JobLog) {
    this.#log = log
  }

  add(task: string, text: string): void {
    if (text === '') return
    if (this.#open !== null && this.#open !== task) {
      const texts = this.#waiting.get(task) ?? []
      texts.push(text)
      this.#waiting.set(task, texts)
      this.#waitingLength += text.length
      if (this.#waitingLength > mostWaiting) this.flush()
      return
    }
    this.#show(task)
    this.#log.foreign(text)
  }

  /** A task is over: what it said is shown whole, its group ends. */
  end(task: string): void {
    if (this.#waiting.has(task)) {
      this.close()
      this.#show(task)
    }
    if (this.#open === task) this.close()
    this.#shown.delete(task)
  }

  /** Ends the open group; what waits goes on waiting. */
  close(): void {
    if (this.#open === null) return
    this.#open = null
    this.#log.command(endGroup)
  }

  /** Shows all that waits. */
  flush(): void {
    this.close()
    for (const task of [...this.#waiting.keys()]) {
      this.#show(task)
      this.close()
    }
  }

  /** Opens the task's group where it has none, with what it said before. */
  #show(task: string): void {
    if (this.#open === task) return
    const title = this.#shown.has(task) ? `${task} output, continued` : `${task} output`
    this.#log.command(() => startGroup(title))
    this.#shown.add(task)
    this.#open = task
    const texts = this.#waiting.get(task) ?? []
    this.#waiting.delete(task)
    for (const text of texts) {
      this.#waitingLength -= text.length
      this.#log.foreign(text)
    }
  }
}
