import type { Policy } from '../../decision/policy.ts'
import type { PlanTask } from '../plan.ts'
import { dependentsOf } from './graph.ts'
import type { Planned } from './planned.ts'
import { approvalPossible } from './requirements.ts'
import type { Work } from './work.ts'

/** Walks beyond so many steps in all are not taken: what is not known to be safe is warned of. */
const stepLimit = 20_000_000

/**
 * Warns of each process task that keeps no artifacts while something that depends on it may run only after a pause: the
 * resumed job has a new checkout, so what the process left in the workspace is gone by then.
 */
export function checkCapture(work: Work, planned: Planned, policy: Policy): void {
  const { tasks, from } = planned
  const told = new Set<unknown>()
  const isTold = (index: number) => told.has(from[index]?.compiled)
  for (const { task, dependent } of uncapturedOf(tasks, () => planned.graph().needs, policy, isTold)) {
    const compiled = from[task]?.compiled
    if (compiled === undefined) continue
    told.add(compiled)
    const strict = work.floor?.workspaceNotCaptured === 'error'
    work.reporter.report(compiled.path, {
      code: 'workspace_not_captured',
      severity: strict ? 'error' : 'warning',
      message: `what \`${tasks[task]?.id}\` leaves in the workspace is lost at a pause before \`${tasks[dependent]?.id}\`, which depends on it`,
      help: `list the files to keep in spec.actions.${tasks[task]?.action.name}.artifacts`,
    })
  }
}

/** Each such task with the first that depends on it, by their places in the list; `skip` leaves some out unasked. */
export function* uncapturedOf(
  tasks: readonly PlanTask[],
  needsOf: () => Lists,
  policy: Pick<Policy, 'approval' | 'nonInteractive'>,
  skip: (task: number) => boolean = () => false,
): Iterable<{ task: number; dependent: number }> {
  if (policy.nonInteractive !== 'pause' || policy.approval === 'never') return
  const gates = tasks.map(task => task.control === undefined && approvalPossible(policy.approval, task.action))
  if (!gates.includes(true)) return

  const needs = needsOf()
  const dependents = dependentsOf(needs)
  const walk = { seen: new Int32Array(needs.length), stamp: 0, steps: 0 }
  for (const [index, task] of tasks.entries()) {
    if (task.action.process === null || task.action.process.artifacts.length > 0 || skip(index)) continue
    const dependent = firstBehindPause(index, needs, dependents, gates, walk)
    if (dependent !== null) yield { task: index, dependent }
  }
}

interface Walk {
  /** 2 x stamp for what the process itself needs, 2 x stamp + 1 for what was walked since. */
  seen: Int32Array
  stamp: number
  steps: number
}

type Lists = readonly (readonly number[])[]

function firstBehindPause(
  task: number,
  needs: Lists,
  dependents: Lists,
  gates: readonly boolean[],
  walk: Walk,
): number | null {
  if ((dependents[task] ?? []).length === 0) return null
  walk.stamp++
  const settled = 2 * walk.stamp
  reach(needs, [task], walk, settled)

  // Grows while it is walked: breadth first, so that the nearest task is named.
  const open = [...(dependents[task] ?? [])]
  const visited = new Set<number>()
  for (const next of open) {
    if (visited.has(next)) continue
    visited.add(next)
    if (waits(next, needs, gates, walk, settled)) return next
    for (const dependent of dependents[next] ?? []) open.push(dependent)
  }
  return null
}

/** Whether a task, or one that it needs and the process does not, may ask a person. */
function waits(task: number, needs: Lists, gates: readonly boolean[], walk: Walk, settled: number): boolean {
  const open = [task]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const mark = walk.seen[next] ?? 0
    if (mark === settled || mark === settled + 1) continue
    walk.seen[next] = settled + 1
    if (gates[next] === true || ++walk.steps > stepLimit) return true
    for (const need of needs[next] ?? []) open.push(need)
  }
  return false
}

function reach(lists: Lists, from: readonly number[], walk: Walk, mark: number): void {
  const open = [...from]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (walk.seen[next] === mark) continue
    walk.seen[next] = mark
    walk.steps++
    for (const other of lists[next] ?? []) open.push(other)
  }
}
