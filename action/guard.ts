import { setSecret } from '@actions/core'
import type { Json } from '../policy/json.ts'
import { createRedactor, secretRefusal } from '../policy/redact.ts'
import { secretValues } from '../runner/secrets/environment.ts'
import type { JobLog } from './job-log.ts'

/**
 * The one guard before every public surface: log, annotations, summary, outputs, issue errors. It knows the job's tokens
 * and the values of the environment variables that the plan reads, learns those of files and helpers as a run reads them, and
 * has the runner mask them too. Every line of the log passes it.
 */
export class Guard {
  readonly #log: JobLog
  #secrets: string[] = []
  #redactor = createRedactor([])

  constructor(log: JobLog) {
    this.#log = log
    log.redactedBy(text => this.text(text))
  }

  /** Adds values; those under 4 characters are left alone, masking them would shred the log (02, Secrets). */
  learn(values: readonly (string | undefined)[]): void {
    const fresh = values.filter(
      (value): value is string =>
        value !== undefined && secretRefusal(value) === null && !this.#secrets.includes(value),
    )
    if (fresh.length === 0) return
    this.#secrets = [...this.#secrets, ...fresh]
    this.#redactor = createRedactor(this.#secrets)
    for (const value of fresh) this.#log.command(() => mask(value))
  }

  text(text: string): string {
    return this.#redactor.text(text)
  }

  json(value: Json): Json {
    return this.#redactor.json(value)
  }

  /** Records of ours, whose keys are no names of secrets. */
  record<Value>(value: Value): Value {
    return this.#redactor.record(value as Json) as Value
  }
}

/** Everything that must not become public in a run of this plan. */
export const secretsOf = secretValues

/** The runner matches masks line by line: each line of a long secret is one too, with and without its indentation. */
function mask(value: string): void {
  const lines = value.split(/\r\n|\n|\r/)
  for (const text of new Set([value, ...lines, ...lines.map(line => line.trim())]))
    if (text === value || secretRefusal(text) === null) setSecret(text)
}
