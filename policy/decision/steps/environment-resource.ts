import type { VariableFact } from '../facts.ts'
import { type Answer, deny, originOf, type Question, remedyFor } from '../question.ts'
import { isReservedVariable } from '../reserved-variables.ts'

/** Names that every system and every program takes for one variable. */
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/

/** The first variable that a process may not get: by its own name, by the name it is read from, or for want of a value. */
export function refusedVariable(
  question: Question,
  environment: { readonly [name: string]: VariableFact },
): Answer | null {
  for (const [variable, fact] of Object.entries(environment)) {
    const refusal =
      refusedName(variable) ??
      refusedReserved(question, variable, fact.source) ??
      refusedByList(question, variable, fact.source) ??
      refusedValue(variable, fact)
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
function refusedReserved(question: Question, variable: string, source: string): Answer | null {
  if (question.effect.isolation === 'process') return null
  if (isReservedVariable(variable)) {
    const detail = 'a container never gets this variable'
    return deny('resource', 'reserved_variable', variable, 'runtime', detail, 'give the value under another name')
  }
  if (!isReservedVariable(source)) return null
  const detail = `a container never gets the value of \`${source}\`, which belongs to the runner or to its engine`
  return deny('resource', 'reserved_variable', variable, 'runtime', detail, 'read it from a variable of the job')
}

function refusedByList(question: Question, variable: string, source: string): Answer | null {
  const { environment } = question.compiled
  const refused = [variable, source].find(name => !environment.has(name))
  if (refused === undefined) return null
  const detail =
    refused === variable ? 'the variable may not be set' : `it would be read from \`${source}\`, which may not be read`
  const remedy = remedyFor(question, 'environmentAllowlist', `add \`${refused}\``)
  const origin = originOf(question, 'environmentAllowlist')
  return deny('resource', 'environmentAllowlist', variable, origin, detail, remedy)
}

function refusedValue(variable: string, { source, sha256, fault }: VariableFact): Answer | null {
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
