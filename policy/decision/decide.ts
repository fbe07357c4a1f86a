import { compiledPolicy } from './compiled.ts'
import type { Decision, DecisionInput, DecisionStep } from './decision.ts'
import type { Answer, Question } from './question.ts'
import { approval } from './steps/approval.ts'
import { authorised } from './steps/authorised.ts'
import { resource } from './steps/resource.ts'
import { risk } from './steps/risk.ts'
import { visible } from './steps/visible.ts'

const steps: readonly ((question: Question) => Answer)[] = [visible, authorised, resource, risk, approval]

/**
 * The five decisions about one effect, in their fixed order. The first deny is final and ends the trace; `ask` can only
 * come last. Pure over its input: the same question always has the same answer.
 */
export function decide(input: DecisionInput): Decision {
  const question: Question = {
    effect: input.effect,
    facts: input.facts,
    policy: input.policy,
    origins: input.origins,
    canPause: input.canPause,
    hostFloor: input.hostFloor ?? null,
    compiled: compiledPolicy(input.policy),
  }
  const trace: DecisionStep[] = []
  for (const decideStep of steps) {
    const { step, detail } = decideStep(question)
    trace.push(step)
    if (step.outcome === 'deny') return { outcome: 'deny', reason: refusal(step, detail), steps: trace }
    if (step.outcome === 'ask') return { outcome: 'ask', reason: detail, steps: trace }
  }
  return { outcome: 'allow', reason: '', steps: trace }
}

function refusal(step: DecisionStep, detail: string): string {
  const whose = step.origin === 'runtime' ? '' : ` (${step.origin})`
  return `${step.rule}${whose} refuses ${step.subject}: ${detail}; ${step.remedy}`
}
