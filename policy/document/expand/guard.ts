import type { Json } from '../../json.ts'
import { parseCondition } from '../template/condition.ts'
import { lookUp } from '../template/scope.ts'
import { holdsAnyTemplate } from '../template/template.ts'

/**
 * Whether a loop's guard can judge the first iteration. One that reads what only an iteration gives says nothing about
 * it, so the first one runs; what `initial` has is judged by it.
 */
export function mayJudge(guard: string, initial: Json): boolean {
  const parsed = parseCondition(guard)
  if (!parsed.ok || holdsAnyTemplate(initial)) return true
  const { reference } = parsed.expression
  const readsPrevious = reference.root === 'loop' || (reference.root === 'vars' && reference.path[0] === 'loopPrevious')
  if (!readsPrevious) return true
  const vars = { loopPrevious: initial }
  return lookUp(reference, { inputs: {}, vars, memory: {}, tasks: {}, loop: { output: initial } }).ok
}
