import type { CompiledPolicy } from './compiled.ts'
import type { DecisionInput, DecisionStep, DecisionStepName } from './decision.ts'
import type { Policy } from './policy.ts'

/** What each step sees: the input, and its policy with every list as a set. */
export interface Question extends DecisionInput {
  compiled: CompiledPolicy
}

/** A step's answer; `detail` is the sentence that a refusal or a request for approval gives as its reason. */
export interface Answer {
  step: DecisionStep
  detail: string
}

export type Origin = DecisionStep['origin']

/** The rule lets the subject pass. */
export function allow(step: DecisionStepName, rule: string, subject: string, origin: Origin): Answer {
  return { step: { step, outcome: 'allow', rule, subject, origin, remedy: '' }, detail: '' }
}

/** The rule refuses the subject, finally. */
export function deny(
  step: DecisionStepName,
  rule: string,
  subject: string,
  origin: Origin,
  detail: string,
  remedy: string,
): Answer {
  return { step: { step, outcome: 'deny', rule, subject, origin, remedy }, detail }
}

/** The rule wants a person to decide. */
export function ask(rule: string, subject: string, origin: Origin, detail: string): Answer {
  return { step: { step: 'approval', outcome: 'ask', rule, subject, origin, remedy: '' }, detail }
}

/** Whose rule a policy field is. */
export function originOf(question: Pick<Question, 'origins'>, field: keyof Policy): Origin {
  return question.origins[field] ?? 'default'
}

/** What to change so that a field allows more: the document's field, or the floor that bounds it. */
export function remedyFor(question: Pick<Question, 'origins'>, field: keyof Policy, change: string): string {
  if (originOf(question, field) === 'floor')
    return `the installed floor sets policy.${field}; ${change} there, if that is meant`
  return `${change} in spec.policy.${field}, if that is meant`
}
