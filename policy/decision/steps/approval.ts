import type { EffectQuestion } from '../decision.ts'
import type { ApprovalMode } from '../policy.ts'
import { type Answer, allow, ask, deny, originOf, type Question, remedyFor } from '../question.ts'

/**
 * Must a person decide first? A tool's `always` adds to the policy's mode, its `never` takes nothing away. Where nobody
 * sits at a terminal, `nonInteractive` turns the request into a durable pause or into one of two denials.
 */
export function approval(question: Question): Answer {
  const { effect, policy } = question
  const origin = originOf(question, 'approval')
  const required = requires(policy.approval, effect)
  if (required === null) {
    const remedy = 'use never, mutations, high_risk or always'
    return deny(
      'approval',
      'approval',
      effect.operation,
      origin,
      `the mode \`${policy.approval}\` is not known`,
      remedy,
    )
  }
  if (effect.confirmedByParent !== null) {
    const detail = `an earlier run confirmed this effect already (${effect.confirmedByParent}), and doing it twice may not be harmless`
    return needed(question, ask('confirmed_by_parent', effect.operation, 'runtime', detail))
  }
  if (required) {
    const detail = `approval \`${policy.approval}\` (${origin}) asks a person before ${effect.operation} (${effect.effectClass}, risk ${effect.risk})`
    return needed(question, ask('approval', effect.operation, origin, detail))
  }
  if (effect.toolApproval === 'always' && effect.compensates !== undefined) {
    const detail = `spec.compensation.approval \`always\` asks a person before task ${effect.compensates} is undone`
    return needed(question, ask('compensation.approval', effect.compensates, 'document', detail))
  }
  if (effect.toolApproval === 'always') {
    return needed(
      question,
      ask('tool_approval', effect.tool, 'document', `the tool \`${effect.tool}\` always asks a person`),
    )
  }
  return allow('approval', 'approval', policy.approval, origin)
}

function needed(question: Question, request: Answer): Answer {
  const { canPause, policy } = question
  if (canPause || policy.nonInteractive === 'pause') return request
  const origin = originOf(question, 'nonInteractive')
  const remedy = remedyFor(question, 'nonInteractive', 'write `pause`')
  const { subject } = request.step
  if (policy.nonInteractive === 'deny_approval') {
    const detail = `the approval that it needs is denied where nobody can be asked at once (${request.detail})`
    return deny('approval', 'nonInteractive.deny_approval', subject, origin, detail, remedy)
  }
  const detail = `the run fails where an approval is needed and nobody can be asked at once (${request.detail})`
  return deny('approval', 'nonInteractive.fail', subject, origin, detail, remedy)
}

/** Whether a mode wants a person for an effect; null for a mode that this version does not know. */
function requires(mode: ApprovalMode, effect: EffectQuestion): boolean | null {
  switch (mode) {
    case 'never':
      return false
    case 'mutations':
      return isMutation(effect)
    case 'high_risk':
      return isHighRisk(effect)
    case 'mutations_or_high_risk':
      return isMutation(effect) || isHighRisk(effect)
    case 'always':
      return true
    default:
      return null
  }
}

function isMutation({ effectClass }: EffectQuestion): boolean {
  return (
    effectClass === 'workspace_mutate' ||
    effectClass === 'external_mutate' ||
    effectClass === 'process_execution' ||
    effectClass === 'remote_agent'
  )
}

function isHighRisk({ risk }: EffectQuestion): boolean {
  return risk === 'high' || risk === 'critical'
}
