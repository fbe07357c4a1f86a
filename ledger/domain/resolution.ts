import type { Person, Resolution, ResolutionOutcome } from '../../policy/approval/record.ts'
import { membersOf } from '../../policy/document/collected.ts'
import { add } from '../outbox.ts'
import { Cells } from '../sql/cells.ts'
import { endOf, isTerminalTask } from '../transitions.ts'
import { cell } from '../values.ts'
import { collectedEnd } from './aggregate.ts'
import { type RunChange, refused } from './change.ts'
import { isCompensating } from './compensation.ts'
import { checkEffectMove, effectRow } from './effect.ts'
import { closeEffect, closeRest, endByNow, endRun, type TaskOfRun, tasksOf } from './finish.ts'
import { StoredPlan } from './stored-plan.ts'
import { setTask, type TaskRow, taskRow } from './task.ts'

export interface ItemRow {
  approval: string
  number: number
  effect: string
  bindingDigest: string
  needed: number
  isOpen: boolean
}

/** Items of a pause by number. */
export function itemsOf(change: RunChange, pause: string): ItemRow[] {
  const rows = change.sql.all(
    `SELECT approval, number, effect, binding_digest, needed, resolution IS NULL FROM items WHERE pause = ? ORDER BY number`,
    pause,
  )
  return rows.map(row => {
    const cells = new Cells(row)
    return {
      approval: cells.text(),
      number: cells.int(),
      effect: cells.text(),
      bindingDigest: cells.text(),
      needed: cells.int(),
      isOpen: cells.flag(),
    }
  })
}

/** When a pause of this run expires. Throws not_found. */
export function pauseExpiry(change: RunChange, pause: string): string {
  const [row] = change.sql.all('SELECT expires_at FROM pauses WHERE pause = ? AND run = ?', pause, change.run)
  if (row === undefined) throw refused('not_found', `Run ${change.run} has no pause ${pause}.`)
  return new Cells(row).text()
}

/** Who answered an item, and how. */
export interface Answer {
  outcome: ResolutionOutcome
  by: Person[]
  reason: string
  via: Resolution['via']
}

/** Gives an open item its one resolution, and its effect what follows from it. */
export function resolveItem(change: RunChange, item: ItemRow, answer: Answer): void {
  const resolution: Resolution = { ...answer, at: change.now }
  const written = change.sql.all(
    'UPDATE items SET resolution = ? WHERE approval = ? AND resolution IS NULL RETURNING 1',
    cell(resolution, 'resolution'),
    item.approval,
  )
  if (written.length === 0) throw refused('conflict', `Item ${item.number} is resolved already; a resolution is final.`)
  change.append('approval.resolved', `approval/${item.approval}`, { effect: item.effect, ...answer })
  const { outcome } = answer
  if (outcome === 'approved') approveEffect(change, item)
  else if (outcome === 'cancelled') closeEffect(change, item.effect, 'cancelled', 'cancelled')
  else denyEffect(change, item, outcome, answer.reason)
}

function approveEffect(change: RunChange, item: ItemRow): void {
  const effect = effectRow(change, item.effect)
  if (effect === null || effect.bindingDigest !== item.bindingDigest) {
    throw refused('conflict', `Item ${item.number} asked about another binding of effect ${item.effect}.`)
  }
  checkEffectMove(effect, 'requested')
  change.sql.run(
    "UPDATE effects SET state = 'requested', approval = ? WHERE run = ? AND effect = ?",
    item.approval,
    change.run,
    item.effect,
  )
  const { approval, bindingDigest } = item
  change.append('effect.approved', `effect/${item.effect}`, { approval, bindingDigest })
}

function denyEffect(change: RunChange, item: ItemRow, outcome: 'rejected' | 'expired', reason: string): void {
  closeEffect(change, item.effect, 'denied', outcome)
  const task = taskOf(change, item.effect)
  const row = taskRow(change, task)
  if (!isTerminalTask(row.state)) setTask(change, task, row, 'denied', { code: outcome, message: reason })
}

/**
 * What denials lead to: with `failure: stop` the other open items are cancelled; with `continue` whatever depends on the
 * denied task is. Then the pause is settled.
 */
export function followDenials(change: RunChange, pause: string, denied: ItemRow[]): void {
  const tasks = denied.map(item => taskOf(change, item.effect))
  const stopping = denied.find((_, index) => taskRow(change, tasks[index] ?? '').failure === 'stop')
  if (stopping === undefined) {
    for (const task of tasks) cancelDependents(change, pause, task)
    settle(change, pause, false)
    return
  }
  const reason = `item ${stopping.number} was denied and its task stops the run`
  for (const item of itemsOf(change, pause)) if (item.isOpen) cancelItem(change, item, reason)
  settle(change, pause, true)
}

function cancelDependents(change: RunChange, pause: string, denied: string): void {
  const plan = new StoredPlan(change)
  const gone = new Set([denied])
  const items = itemsOf(change, pause)
  // Tasks come in topological order: a dependent stands behind what it needs.
  for (const { task, needs, row } of tasksOf(change)) {
    if (!needs.some(need => gone.has(need))) continue
    gone.add(task)
    if (isTerminalTask(row.state)) continue
    const members = new Set(membersOf(plan.controlOf(task)))
    if (members.size > 0 && !needs.some(need => gone.has(need) && !members.has(need))) {
      collectNow(change, plan, task, row)
      continue
    }
    setTask(change, task, row, 'cancelled', {
      code: 'dependency_denied',
      message: `it depends on ${denied}, which was denied`,
    })
    const effects = change.sql.all(
      "SELECT effect FROM effects WHERE run = ? AND task = ? AND state IN ('requested', 'waiting_for_approval')",
      change.run,
      task,
    )
    for (const [effect] of effects) {
      const item = items.find(candidate => candidate.effect === effect && candidate.isOpen)
      if (item !== undefined) cancelItem(change, item, `it depends on ${denied}, which was denied`)
      else closeEffect(change, String(effect), 'cancelled', 'cancelled')
    }
  }
}

/** A task that collects results ends with the last of them; until then it waits, whatever it will come to. */
function collectNow(change: RunChange, plan: StoredPlan, task: string, row: TaskRow): void {
  const ended = collectedEnd(change, plan, task)
  if (ended !== null) setTask(change, task, row, ended.to, ended.error, ended.output)
}

function cancelItem(change: RunChange, item: ItemRow, reason: string): void {
  resolveItem(change, item, { outcome: 'cancelled', by: [], reason, via: 'system' })
}

/**
 * Once every item is resolved: the run ends where nothing is left to run, else it waits to be dispatched again. What the
 * document has undone by itself is left to run too, under the denial that stands.
 */
export function settle(change: RunChange, pause: string, isStopped: boolean): void {
  if (itemsOf(change, pause).some(item => item.isOpen)) return
  const tasks = tasksOf(change)
  const isOpen = tasks.some(task => !isTerminalTask(task.row.state))
  const hasMore = (isOpen && !isStopped) || undoesByItself(change, tasks)
  change.append('pause.resolved', `pause/${pause}`, { follows: hasMore ? 'redispatch' : 'run_ended' })
  if (!hasMore) {
    endByTasks(change, 'a person or the clock ended the run')
    return
  }
  if (!change.row.hasInstance) return
  const payload = { run: change.run, pause }
  add(change.context, { id: `redispatch:${pause}`, run: change.run, kind: 'redispatch', payload })
}

/** Whether the run is denied or failed by now and says that what succeeded of it is undone without anybody asking. */
function undoesByItself(change: RunChange, tasks: readonly TaskOfRun[]): boolean {
  const end = endOf(tasks.map(({ row }) => row.state))
  if ((end !== 'denied' && end !== 'failed') || isCompensating(change)) return false
  const plan = new StoredPlan(change)
  return plan.undoesByItself && tasks.some(({ task, row }) => row.state === 'succeeded' && plan.canUndo(task))
}

/** Ends a paused run as its tasks say, what has not run cancelled; a run in which nothing failed is cancelled. */
export function endByTasks(change: RunChange, why: string): void {
  closeRest(change, why)
  const end = endByNow(change, tasksOf(change))
  endRun(change, end === 'succeeded' ? 'cancelled' : end, null)
}

/** Records what nobody answered in time. Of a pause that is resolved, nothing is left to expire. */
export function expirePause(change: RunChange, pause: string): void {
  const expiresAt = pauseExpiry(change, pause)
  const open = itemsOf(change, pause).filter(item => item.isOpen)
  if (open.length === 0) return
  if (change.context.clock.now().toISOString() < expiresAt) {
    throw refused('conflict', `Pause ${pause} expires at ${expiresAt}, not before.`)
  }
  const reason = `nobody decided before ${expiresAt}`
  for (const item of open) resolveItem(change, item, { outcome: 'expired', by: [], reason, via: 'system' })
  followDenials(change, pause, open)
}

function taskOf(change: RunChange, effect: string): string {
  const row = effectRow(change, effect)
  if (row === null) throw refused('not_found', `Run ${change.run} has no effect ${effect}.`)
  return row.task
}
