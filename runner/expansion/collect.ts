import type { Json } from '../../policy/json.ts'
import type { TaskState } from '../../policy/states.ts'
import type { Move } from '../moves.ts'
import type { RunState } from '../state.ts'

/** One entry of an aggregate's `items`. */
export interface CollectedItem {
  /** From 0. */
  index: number
  taskId: string
  state: TaskState
  /** What it gave: its output, or why it was skipped; null where it gave nothing. */
  output: Json
  error: { code: string; message: string } | null
}

/** What the members came to, in their order. */
export function collect(state: RunState, members: readonly string[]): CollectedItem[] {
  return members.map((taskId, index) => {
    const { state: end, error } = state.status(taskId)
    const output = state.outputs[taskId]?.output ?? null
    return { index, taskId, state: end, output, error: end === 'succeeded' || end === 'skipped' ? null : error }
  })
}

const worstFirst = ['failed', 'denied', 'cancelled'] as const

/** The end that follows from members which did not succeed, the gravest first; null where all did or were skipped. */
export function badEnd(items: readonly CollectedItem[]): Pick<Move, 'to' | 'error'> | null {
  const to = worstFirst.find(end => items.some(item => item.state === end))
  if (to === undefined) return null
  const bad = items.filter(({ state }) => state !== 'succeeded' && state !== 'skipped')
  const first = bad.find(({ state }) => state === to)
  const message = `${bad.length} of ${items.length} did not succeed: ${first?.taskId ?? ''} ${to}`
  return { to, error: { code: 'dependency', message } }
}
