import type { ProcessFact } from '../facts.ts'
import { refusedProgram } from '../programs.ts'
import { type Answer, allow, originOf, type Question } from '../question.ts'
import { refused } from '../refusal.ts'
import { refusedVariable } from './environment-resource.ts'
import { unknownFact } from './path-resource.ts'

/** The executable by name or by exact real path, the places that lead to it, and each variable that it would get. */
export function processResource(question: Question, fact: ProcessFact): Answer {
  if (!fact.known) return unknownFact(fact, commandOf(question))
  const { programs: names, programFiles: files } = question.compiled
  const refusal = refusedProgram({ field: 'processAllowlist', names, files }, fact)
  if (refusal !== null) return refused(question, fact.command, refusal)
  return (
    refusedVariable(question, fact.environment) ??
    allow('resource', 'processAllowlist', fact.realPath, originOf(question, 'processAllowlist'))
  )
}

function commandOf(question: Question): string {
  const command = question.effect.input['command']
  return typeof command === 'string' ? command : question.effect.operation
}
