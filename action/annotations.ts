import { error, notice, warning } from '@actions/core'
import type { JobLog } from './job-log.ts'

/** GitHub shows at most 10 annotations of each level per step. */
const mostPerLevel = 10

export interface Annotation {
  level: 'error' | 'warning' | 'notice'
  message: string
  title?: string
  /** Relative to the repository's root. */
  file?: string
  line?: number
  column?: number
}

/** Annotations up to GitHub's limit; what exceeds it is a plain line of the log. */
export class Annotations {
  readonly #log: JobLog
  readonly #redact: (text: string) => string
  readonly #counts = { error: 0, warning: 0, notice: 0 }

  constructor(log: JobLog, redact: (text: string) => string) {
    this.#log = log
    this.#redact = redact
  }

  /** How many errors were said so far. */
  get errors(): number {
    return this.#counts.error
  }

  add({ level, message, title, file, line, column }: Annotation): void {
    const text = this.#redact(message)
    this.#counts[level] += 1
    if (this.#counts[level] > mostPerLevel) {
      this.#log.line(`${level}: ${file === undefined ? '' : `${file}:${line ?? 1}:${column ?? 1} `}${text}`)
      return
    }
    const place = {
      title: this.#redact(title ?? 'agentctl'),
      ...(file !== undefined && {
        file: this.#redact(file),
        startLine: line ?? 1,
        ...(column !== undefined && { startColumn: column }),
      }),
    }
    const print = { error, warning, notice }[level]
    this.#log.command(() => print(text, place))
  }
}
