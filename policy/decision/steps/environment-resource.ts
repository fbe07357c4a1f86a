import type { EnvironmentFact, VariableFact } from '../facts.ts'
import { type Answer, deny, originOf, type Question, remedyFor } from '../question.ts'
import { refused } from '../refusal.ts'
import { isReservedVariable } from '../reserved-variables.ts'
import { refusedSecret } from '../secrets.ts'

/** Names that every system and every program takes for one variable. */
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * The first variable that a process may not get: by its own name, by where it is read from, or for want of a value. The
 * lists come first: of a source that they do not name nothing is told.
 */
export function refusedVariable(
  question: Question,
  environment: { readonly [name: string]: VariableFact },
): Answer | null {
  for (const [variable, fact] of Object.entries(environment)) {
    const source = 'source' in fact ? fact.source : null
    const refusal =
      refusedName(variable) ??
      refusedReserved(question, variable, source) ??
      refusedByList(question, variable, source) ??
      ('source' in fact ? refusedValue(variable, fact) : refusedSource(question, variable, fact))
    if (refusal !== null) return refusal
  }
  return null
}

function refusedName(variable: string): Answer | null {
  if (variableName.test(variable)) return null
  const detail = 'it is no name of a variable'
  const remedy = 'use letters, digits and `_`, no digit first'
  return deny('resource', 'invalid_variable', variable, 'runtime', detail, remedy)
}

/** Neither under its own name nor under another one. */
function refusedReserved(question: Question, variable: string, source: string | null): Answer | null {
  if (question.effect.isolation === 'process') return null
  if (isReservedVariable(variable)) {
    const detail = 'a container never gets this variable'
    return deny('resource', 'reserved_variable', variable, 'runtime', detail, 'give the value under another name')
  }
  if (source === null || !isReservedVariable(source)) return null
  const detail = `a container never gets the value of \`${source}\`, which belongs to the runner or to its engine`
  return deny('resource', 'reserved_variable', variable, 'runtime', detail, 'read it from a variable of the job')
}

function refusedByList(question: Question, variable: string, source: string | null): Answer | null {
  const { environment } = question.compiled
  const unlisted = [variable, source ?? variable].find(name => !environment.has(name))
  if (unlisted === undefined) return null
  const detail =
    unlisted === variable ? 'the variable may not be set' : `it would be read from \`${source}\`, which may not be read`
  const remedy = remedyFor(question, 'environmentAllowlist', `add \`${unlisted}\``)
  const origin = originOf(question, 'environmentAllowlist')
  return deny('resource', 'environmentAllowlist', variable, origin, detail, remedy)
}

/** A secret file or a secret helper. */
function refusedSource(
  question: Question,
  variable: string,
  fact: Exclude<VariableFact, EnvironmentFact>,
): Answer | null {
  if (variable === 'PATH' && 'helper' in fact) {
    const detail = 'where programs are looked for must be known before anything runs, and a helper runs later'
    return deny('resource', 'helper_for_path', variable, 'runtime', detail, 'give PATH by {env} or by {file}')
  }
  const refusal = refusedSecret(question.compiled, fact)
  return refusal && refused(question, variable, refusal)
}

function refusedValue(variable: string, { source, sha256, fault }: EnvironmentFact): Answer | null {
  if (sha256 !== null) return null
  if (fault === 'empty') {
    const detail = `\`${source}\` is empty on this host`
    return deny('resource', 'empty_variable', variable, 'runtime', detail, `give \`${source}\` a value for the job`)
  }
  if (fault === 'short') {
    const detail = `the value of \`${source}\` is too short to be hidden: hiding it would shred the log`
    return deny('resource', 'secret_refused', variable, 'runtime', detail, 'use a value of 4 characters or more')
  }
  const detail = `\`${source}\` is not set on this host`
  return deny('resource', 'missing_variable', variable, 'runtime', detail, `set \`${source}\` for the job`)
}
