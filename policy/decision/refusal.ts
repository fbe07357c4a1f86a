import type { Policy } from './policy.ts'
import { type Answer, deny, originOf, type Question, remedyFor } from './question.ts'

/** A refused resource, before it is said whose rule it is: the rule, what is wrong, and the change that would allow it. */
export interface Refusal {
  /** A field of `spec.policy`, or a fixed rule's name. */
  rule: string
  /** The field that `change` is to be made in; null for a fixed rule, which no policy changes. */
  field: keyof Policy | null
  detail: string
  change: string
}

/** The refusal as an answer of the resource step. */
export function refused(question: Question, subject: string, { rule, field, detail, change }: Refusal): Answer {
  const origin = rule === field ? originOf(question, field) : 'runtime'
  const remedy = field === null ? change : remedyFor(question, field, change)
  return deny('resource', rule, subject, origin, detail, remedy)
}
