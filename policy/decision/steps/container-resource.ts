import type { ContainerFact } from '../facts.ts'
import { type Answer, allow, deny, originOf, type Question } from '../question.ts'
import { refused } from '../refusal.ts'
import { refusedVariable } from './environment-resource.ts'
import { unknownFact } from './path-resource.ts'

/** The command by its name, since its file is the image's; the image where a floor lists them; each variable. */
export function containerResource(question: Question, fact: ContainerFact): Answer {
  if (!fact.known) return unknownFact(fact, question.effect.operation)
  const { compiled, hostFloor } = question
  const field = 'processAllowlist'
  if (!compiled.programs.has(fact.basename)) {
    const detail = `\`${fact.basename}\` is not on the list`
    return refused(question, fact.command, { rule: field, field, detail, change: `add \`${fact.basename}\`` })
  }
  const images = hostFloor?.images
  if (images !== undefined && !images.includes(fact.image.reference)) {
    const detail = "the image is not among those that the host's floor allows"
    const remedy = "use one of these, or have images of the host's floor changed"
    return deny('resource', 'images', fact.image.reference, 'floor', detail, remedy)
  }
  return (
    refusedVariable(question, fact.environment) ??
    allow('resource', field, `${fact.basename} in ${fact.image.reference}`, originOf(question, field))
  )
}
