import { setSecret } from '@actions/core'
import type { Plan } from '../policy/document/plan.ts'
import type { Json } from '../policy/json.ts'
import { createRedactor } from '../policy/redact.ts'
import type { JobLog } from './job-log.ts'

/**
 * The one guard before every public surface: log, annotations, summary, outputs, issue errors. It knows the job's tokens
 * and the values of the environment variables that the plan reads, and has the runner mask them too.
 */
export class Guard {
  readonly #log: JobLog
  #secrets: string[] = []
  #redactor = createRedactor([])

  constructor(log: JobLog) {
    this.#log = log
  }

  /** Adds values; those under 4 characters are left alone, masking them would shred the log (02, Secrets). */
  learn(values: readonly (string | undefined)[]): void {
    const fresh = values.filter(
      (value): value is string => value !== undefined && value.length >= 4 && !this.#secrets.includes(value),
    )
    if (fresh.length === 0) return
    for (const value of fresh) this.#log.command(() => mask(value))
    this.#secrets = [...this.#secrets, ...fresh]
    this.#redactor = createRedactor(this.#secrets)
  }

  text(text: string): string {
    return this.#redactor.text(text)
  }

  json(value: Json): Json {
    return this.#redactor.json(value)
  }
}

/** Values of the variables that a plan's secret references read. */
export function secretsOf(
  plan: Plan,
  environment: { readonly [name: string]: string | undefined },
): (string | undefined)[] {
  return Object.values(plan.tasks).flatMap(task =>
    Object.values(task.action.process?.env ?? {}).map(source =>
      'env' in source ? environment[source.env] : undefined,
    ),
  )
}

/** The runner matches masks line by line: each line of a long secret is one too. */
function mask(value: string): void {
  setSecret(value)
  for (const line of value.split(/\r?\n/)) if (line !== value && line.trim().length >= 4) setSecret(line.trim())
}
