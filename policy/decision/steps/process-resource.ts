import type { PassedPlace, ProcessFact } from '../facts.ts'
import { type Answer, allow, deny, originOf, type Question, remedyFor } from '../question.ts'
import { refusedVariable } from './environment-resource.ts'
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
  return (
    refusedProgram(question, fact) ??
    refusedInterpreter(question, fact) ??
    refusedVariable(question, fact.environment) ??
    allowed(question, fact)
  )
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
  return refusedPlace(question, fact.command, fact.realPath, fact.passed)
}

/** An entry that names a script says nothing about what runs it: that must be trusted by its place, or be an entry too. */
function refusedInterpreter(question: Question, fact: KnownProcess): Answer | null {
  for (const { path, passed } of fact.interpreters) {
    if (question.compiled.programFiles.has(path)) continue
    const refusal = refusedPlace(question, fact.command, path, passed)
    if (refusal !== null) return refusal
  }
  return null
}

function refusedPlace(question: Question, command: string, file: string, passed: PassedPlace[]): Answer | null {
  // Inside a container or a cell the image's digest says what the file is; a host place says nothing about it.
  if (question.effect.isolation !== 'process') return null
  if (passed.length === 0) {
    const detail = 'the places that lead to the file are not known'
    return deny('resource', 'missing_facts', command, 'runtime', detail, 'report this: the runner must establish them')
  }
  const untrusted = passed.find(place => place.untrusted !== '')
  if (untrusted === undefined || untrusted.untrusted === '') return null
  const detail = `${untrusted.path} ${places[untrusted.untrusted] ?? 'is not trusted'}, where its content could be replaced`
  const remedy = remedyFor(question, 'processAllowlist', `add the exact file \`${file}\``)
  return deny('resource', 'untrusted_program', command, 'runtime', detail, remedy)
}

function commandOf(question: Question): string {
  const command = question.effect.input['command']
  return typeof command === 'string' ? command : question.effect.operation
}
