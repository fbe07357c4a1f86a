import type { Plan } from '../../policy/document/plan.ts'
import { createRedactor, type Redactor, secretRefusal } from '../../policy/redact.ts'
import { referencesOf } from './references.ts'

export type Environment = { readonly [name: string]: string | undefined }

/** Tokens of the job that a host process of the same user could find out and print. */
const jobTokens = [
  'ACTIONS_RUNTIME_TOKEN',
  'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
  'GITHUB_TOKEN',
  'GH_TOKEN',
  'INPUT_GITHUB-TOKEN',
]

/**
 * Every value of the job's environment that must not become public in a run of this plan: what its references read there,
 * and the job's tokens. Values too short to be hidden are left out; a task that needs one is refused.
 */
export function secretValues(plan: Plan, environment: Environment): string[] {
  const names = referencesOf(plan).flatMap(reference => ('env' in reference ? [reference.env] : []))
  const values = [...names, ...jobTokens].flatMap(name => environment[name] ?? [])
  return [...new Set(values)].filter(value => secretRefusal(value) === null)
}

/** Hides what the environment gives: for a plan whose workspace, and so its secret files, cannot be had. */
export function environmentRedactor(plan: Plan, environment: Environment): Redactor {
  return createRedactor(secretValues(plan, environment))
}
