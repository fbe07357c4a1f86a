import { type Answer, allow, deny, originOf, type Question, remedyFor } from '../question.ts'

/** May the agent see this tool at all? A declared task names its own action, so nothing is hidden from it. */
export function visible(question: Question): Answer {
  const { agent, tool } = question.effect
  if (agent === null) return allow('visible', 'declared_task', tool, 'document')
  if (!question.compiled.toolsDeny.has(tool)) return allow('visible', 'agent_tools', tool, 'document')
  return deny(
    'visible',
    'toolsDeny',
    tool,
    originOf(question, 'toolsDeny'),
    `the tool is hidden from agent ${agent}`,
    remedyFor(question, 'toolsDeny', `remove \`${tool}\``),
  )
}
