import type { Json, JsonObject } from '../json.ts'
import type { TaskState } from '../states.ts'
import type { PlanControl } from './plan.ts'

/** What a member of an aggregate came to. */
export interface MemberEnd {
  state: TaskState
  /** What it gave: its output, or why it was skipped; null where it gave nothing. */
  output: Json
  error: { code: string; message: string } | null
}

/** One entry of an aggregate's `items`; `index` from 0. */
export type CollectedItem = { index: number; taskId: string } & MemberEnd

const none: readonly string[] = []

/** Tasks whose results a task collects, whatever they came to. */
export function membersOf(control: PlanControl | undefined): readonly string[] {
  if (control === undefined || control.kind === 'router' || control.kind === 'inputs') return none
  return control.kind === 'outputs' ? [control.entry, ...control.members] : control.members
}

/** What the members came to, in their order. */
export function collect(members: readonly string[], endOf: (id: string) => MemberEnd): CollectedItem[] {
  return members.map((taskId, index) => {
    const { state, output, error } = endOf(taskId)
    return { index, taskId, state, output, error: state === 'succeeded' || state === 'skipped' ? null : error }
  })
}

/** The output that says what was collected; null for the outputs of a sub-workflow, which has those of its own only. */
export function collectedOutput(control: PlanControl, items: CollectedItem[]): JsonObject | null {
  const all = items as unknown as Json
  if (control.kind === 'items') return { items: all }
  if (control.kind !== 'iterations') return null
  return { iterations: items.filter(({ state }) => state === 'succeeded').length, items: all }
}

const worstFirst = ['failed', 'denied', 'cancelled'] as const

export interface BadEnd {
  to: (typeof worstFirst)[number]
  error: { code: string; message: string }
}

/** The end that follows from members which did not succeed, the gravest first; null where all did or were skipped. */
export function badEnd(items: readonly CollectedItem[]): BadEnd | null {
  const to = worstFirst.find(end => items.some(item => item.state === end))
  if (to === undefined) return null
  const bad = items.filter(({ state }) => state !== 'succeeded' && state !== 'skipped')
  const first = bad.find(({ state }) => state === to)
  const message = `${bad.length} of ${items.length} did not succeed: ${first?.taskId ?? ''} ${to}`
  return { to, error: { code: 'dependency', message } }
}
