import { canonical } from '../policy/canonical.ts'
import type { Plan, SecretReference } from '../policy/document/plan.ts'
import { createRedactor, type Redactor, secretRefusal } from '../policy/redact.ts'
import { ExecutorError } from './executor.ts'

/** The secret values that a run can come to know, and the one redactor that keeps them out of everything public. */
export interface Secrets {
  redactor: Redactor
  /** What a reference comes to now. Throws ExecutorError for a kind of reference that this runner does not read. */
  read(reference: SecretReference): SecretValue
}

/** Name of a reference's source and its value; undefined where it is not set, or where `fault` says why it is not given. */
export interface SecretValue {
  source: string
  value: string | undefined
  fault?: 'empty' | 'short'
}

type Environment = { readonly [name: string]: string | undefined }

/** Tokens of the job that a host process of the same user could find out and print. */
const jobTokens = [
  'ACTIONS_RUNTIME_TOKEN',
  'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
  'GITHUB_TOKEN',
  'GH_TOKEN',
  'INPUT_GITHUB-TOKEN',
]

/**
 * Every value that must not become public in a run of this plan: what its secret references read, and the job's tokens.
 * Values too short to be hidden are left out; a task that needs one is refused.
 */
export function secretValues(plan: Plan, environment: Environment): string[] {
  const references = Object.values(plan.tasks).flatMap(task => Object.values(task.action.process?.env ?? {}))
  const names = references.flatMap(reference => ('env' in reference ? [reference.env] : []))
  const values = [...names, ...jobTokens].flatMap(name => environment[name] ?? [])
  return [...new Set(values)].filter(value => secretRefusal(value) === null)
}

/** Collects every secret of the plan before anything runs, so that redaction is the same from the first line to the last. */
export function collectSecrets(plan: Plan, environment: Environment): Secrets {
  return {
    redactor: createRedactor(secretValues(plan, environment)),
    read: reference => readReference(reference, environment),
  }
}

/** Names of the plan's inputs that hold a secret's value: the plan is recorded as it is, and they would be with it. */
export function inputsWithSecrets({ inputs }: Plan, { redactor }: Secrets): string[] {
  return Object.entries(inputs).flatMap(([name, value]) =>
    canonical(redactor.record([name, value])) === canonical([name, value]) ? [] : [name],
  )
}

function readReference(reference: SecretReference, environment: Environment): SecretValue {
  if (!('env' in reference))
    throw new ExecutorError(
      'unsupported_capability',
      `secrets from a ${'file' in reference ? 'file' : 'process'} are not supported by this runner; use {env: NAME}`,
    )
  const source = reference.env
  const value = environment[source]
  if (value === undefined || secretRefusal(value) === null) return { source, value }
  return { source, value: undefined, fault: value === '' ? 'empty' : 'short' }
}
