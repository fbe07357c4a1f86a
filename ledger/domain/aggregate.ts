import {
  badEnd,
  type CollectedItem,
  collect,
  collectedOutput,
  type MemberEnd,
  membersOf,
} from '../../policy/document/collected.ts'
import type { TaskState } from '../../policy/states.ts'
import { keep, resolve } from '../blobs.ts'
import type { Payload } from '../payload.ts'
import { Cells } from '../sql/cells.ts'
import { isTerminalTask } from '../transitions.ts'
import { payloadOf } from '../values.ts'
import type { RunChange } from './change.ts'
import type { StoredPlan } from './stored-plan.ts'

/** How a task that collects results ends where the ledger ends it. */
export interface CollectedEnd {
  to: 'failed' | 'denied' | 'cancelled'
  error: { code: string; message: string } | null
  output: Payload | null
}

/**
 * What a task that collects results comes to by those of its members, with the items that it has: an end without success,
 * or `cancelled` where every member was well and the rest is the runner's to say. null where it collects nothing, or where
 * a member has not ended.
 */
export function collectedEnd(change: RunChange, plan: StoredPlan, task: string): CollectedEnd | null {
  const control = plan.controlOf(task)
  const members = membersOf(control)
  if (control === undefined || members.length === 0) return null
  const items = collect(members, id => memberEnd(change, id))
  if (items.some(({ state }) => !isTerminalTask(state) || state === 'uncertain')) return null
  const output = collectedOutput(control, items)
  const bytes = (value: Uint8Array) => keep(change.context, value, change.run)
  return { ...endBy(items), output: output === null ? null : payloadOf(output, bytes) }
}

function endBy(items: readonly CollectedItem[]): Pick<CollectedEnd, 'to' | 'error'> {
  return badEnd(items) ?? { to: 'cancelled', error: null }
}

function memberEnd(change: RunChange, task: string): MemberEnd {
  const [row] = change.sql.all('SELECT state, output, error FROM tasks WHERE run = ? AND task = ?', change.run, task)
  if (row === undefined) return { state: 'pending', output: null, error: null }
  const cells = new Cells(row)
  const state = cells.text() as TaskState
  const output = cells.jsonOrNull<Payload>()
  const error = cells.jsonOrNull<{ code: string; message: string }>()
  // What a failed member collected itself is its own record, as for the runner.
  const isReadable = state === 'succeeded' || state === 'skipped'
  return { state, output: isReadable ? resolve(change.context, output) : null, error }
}
