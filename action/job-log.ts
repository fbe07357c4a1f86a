import { randomBytes } from 'node:crypto'

/**
 * The job's log. What this Action says itself are plain lines and workflow commands; everything that others wrote (child
 * output, messages with foreign text) goes between `::stop-commands::TOKEN` and `::TOKEN::`, a fresh random token each
 * time, so that the runner never reads a command in it.
 */
export class JobLog {
  readonly #write: (text: string) => void
  #redact: (text: string) => string = text => text
  #fence: string | null = null
  #atLineStart = true

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  /** What every text passes from now on. */
  redactedBy(redact: (text: string) => string): void {
    this.#redact = redact
  }

  /** One line of ours. Text in which the runner could read a command is fenced. */
  line(text: string): void {
    if (/::|##\[/.test(text)) this.foreign(`${text}\n`)
    else {
      this.#unfence()
      this.#put(`${this.#redact(text)}\n`)
    }
  }

  /** Text of others, as it is. */
  foreign(text: string): void {
    if (text === '') return
    if (this.#fence === null) {
      this.#endLine()
      this.#fence = randomBytes(24).toString('hex')
      this.#put(`::stop-commands::${this.#fence}\n`)
    }
    this.#put(this.#redact(text))
  }

  /** Runs what prints workflow commands, outside any fence. */
  command(print: () => void): void {
    this.#unfence()
    this.#endLine()
    print()
  }

  #unfence(): void {
    if (this.#fence === null) return
    this.#endLine()
    this.#put(`::${this.#fence}::\n`)
    this.#fence = null
  }

  #endLine(): void {
    if (!this.#atLineStart) this.#put('\n')
  }

  #put(text: string): void {
    this.#write(text)
    this.#atLineStart = text.endsWith('\n')
  }
}
