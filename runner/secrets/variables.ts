import type { VariableFact } from '../../policy/decision/index.ts'
import type { PlanCommand } from '../../policy/document/plan.ts'
import type { FoundSecret, Secrets } from '../secrets.ts'
import type { HelperAnswer } from './helper.ts'

/** The variables of one process: what is known of each, and the values as far as nothing has to run for them. */
export interface Variables {
  facts: { [name: string]: VariableFact }
  values: { [name: string]: string }
  /** Those that a helper gives, in the document's order. */
  asked: { name: string; ask: (signal: AbortSignal, effect: string) => Promise<HelperAnswer> }[]
  close(): void
}

/** Finds what each variable of a command comes to. The caller closes it. */
export function findVariables(secrets: Secrets, env: PlanCommand['env']): Variables {
  const found: [name: string, secret: FoundSecret][] = []
  const close = () => {
    for (const [, secret] of found) secret.close()
  }
  try {
    for (const [name, reference] of Object.entries(env)) found.push([name, secrets.find(reference)])
  } catch (error) {
    close()
    throw error
  }
  return {
    facts: Object.fromEntries(found.map(([name, { fact }]) => [name, fact])),
    values: Object.fromEntries(found.flatMap(([name, { value }]) => (value === null ? [] : [[name, value]]))),
    asked: found.flatMap(([name, { ask }]) => (ask === null ? [] : [{ name, ask }])),
    close,
  }
}
