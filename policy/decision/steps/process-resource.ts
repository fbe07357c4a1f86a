import type { ProcessFact } from '../facts.ts'
import { type Answer, allow, deny, originOf, type Question, remedyFor } from '../question.ts'
import { isReservedVariable } from '../reserved-variables.ts'
import { unknownFact } from './path-resource.ts'

type KnownProcess = ProcessFact & { known: true }

const places = {
  writable_root: 'lies under a writable root',
  temporary: 'lies in a temporary directory',
  others_writable: 'lies in or below a directory that others may write',
} as const

/** The executable by name or by exact real path, the places that lead to it, and each variable that it would get. */
export function processResource(question: Question, fact: ProcessFact): Answer {
  if (!fact.known) return unknownFact(fact, commandOf(question))
  return refusedProgram(question, fact) ?? refusedVariable(question, fact) ?? allowed(question, fact)
}

function allowed(question: Question, fact: KnownProcess): Answer {
  return allow('resource', 'processAllowlist', fact.realPath, originOf(question, 'processAllowlist'))
}

function refusedProgram(question: Question, fact: KnownProcess): Answer | null {
  const { programs, programFiles } = question.compiled
  const origin = originOf(question, 'processAllowlist')
  if (programFiles.has(fact.realPath)) return null
  if (!programs.has(fact.basename)) {
    const remedy = remedyFor(question, 'processAllowlist', `add \`${fact.basename}\``)
    const detail = `neither \`${fact.basename}\` nor ${fact.realPath} is on the list`
    return deny('resource', 'processAllowlist', fact.command, origin, detail, remedy)
  }
  // Inside a container or a cell the image's digest says what the file is; a host place says nothing about it.
  if (question.effect.isolation !== 'process') return null
  if (fact.passed.length === 0) {
    const detail = 'the places that lead to the file are not known'
    return deny(
      'resource',
      'missing_facts',
      fact.command,
      'runtime',
      detail,
      'report this: the runner must establish them',
    )
  }
  const untrusted = fact.passed.find(place => place.untrusted !== '')
  if (untrusted === undefined || untrusted.untrusted === '') return null
  const detail = `${untrusted.path} ${places[untrusted.untrusted] ?? 'is not trusted'}, where its content could be replaced`
  const remedy = remedyFor(question, 'processAllowlist', `add the exact file \`${fact.realPath}\``)
  return deny('resource', 'untrusted_program', fact.command, 'runtime', detail, remedy)
}

function refusedVariable(question: Question, fact: KnownProcess): Answer | null {
  const { environment } = question.compiled
  const origin = originOf(question, 'environmentAllowlist')
  for (const [variable, { source, sha256 }] of Object.entries(fact.environment)) {
    if (question.effect.isolation !== 'process' && isReservedVariable(variable)) {
      const remedy = 'give the value under another name'
      return deny('resource', 'reserved_variable', variable, 'runtime', 'a container never gets this variable', remedy)
    }
    for (const name of [variable, source]) {
      if (environment.has(name)) continue
      const detail =
        name === variable ? 'the variable may not be set' : `it would be read from \`${name}\`, which may not be read`
      const remedy = remedyFor(question, 'environmentAllowlist', `add \`${name}\``)
      return deny('resource', 'environmentAllowlist', variable, origin, detail, remedy)
    }
    if (sha256 === null) {
      const detail = `\`${source}\` is not set on this host`
      return deny('resource', 'missing_variable', variable, 'runtime', detail, `set \`${source}\` for the job`)
    }
  }
  return null
}

function commandOf(question: Question): string {
  const command = question.effect.input['command']
  return typeof command === 'string' ? command : question.effect.operation
}
