import path from 'node:path'
import type { Facts } from '../policy/decision/facts.ts'
import { resolveValue, scopeOfTask } from '../policy/document/index.ts'
import { isLongTermMemory } from '../policy/effect.ts'
import type { JsonObject } from '../policy/json.ts'
import type { RunContext } from './context.ts'
import { closeWritePlace, writeFact } from './facts/write-fact.ts'
import { type AskedEffect, propose } from './proposal.ts'

/**
 * What people can be asked about already (04, Look-ahead): effects further down the plan whose input is known in full and
 * whose files nothing unfinished can touch. What may ask once more is known is `later`.
 */
export async function lookAhead(
  context: RunContext,
  waiting: readonly AskedEffect[],
): Promise<{ ahead: AskedEffect[]; later: string[] }> {
  const { state } = context
  const asked = new Map(waiting.map(effect => [effect.task.id, effect]))
  const isWaiting = new Set(asked.keys())
  const unclear = new Set<string>()
  for (const id of state.open) {
    if (isWaiting.has(id) || state.task(id).control !== undefined) continue
    const proposal = await propose(context, id, { memory: memoryFor(context, id), tasks: state.outputs, ahead: true })
    if (proposal.kind === 'ready') proposal.prepared.close()
    if (proposal.kind === 'ask') asked.set(id, proposal.asked)
    if (proposal.kind === 'failed' && mayAsk(context, id)) unclear.add(id)
  }
  const ahead: AskedEffect[] = []
  const later: string[] = []
  for (const id of state.open) {
    const effect = asked.get(id)
    if (unclear.has(id)) later.push(id)
    if (effect === undefined || isWaiting.has(id)) continue
    const files = filesOf(context, effect.facts)
    if (beforeOf(context, id).some(other => mayTouch(context, other, files))) later.push(id)
    else ahead.push(effect)
  }
  return { ahead, later }
}

/** Unfinished tasks that may run before this one: all but itself and what waits for it. */
function beforeOf(context: RunContext, id: string): string[] {
  const after = dependentsOf(context, id)
  return context.state.open.filter(other => !after.has(other))
}

/** Working memory as far as it cannot change any more before the task's turn. */
function memoryFor(context: RunContext, id: string): JsonObject {
  const { memory, open } = context.state
  if (!open.some(other => writesMemory(context, other))) return memory
  return beforeOf(context, id).some(other => writesMemory(context, other)) ? {} : memory
}

/** The task and those that can only run once it has. */
function dependentsOf({ plan }: RunContext, id: string): Set<string> {
  const after = new Set([id])
  for (const other of plan.order) if (plan.tasks[other]?.needs.some(need => after.has(need))) after.add(other)
  return after
}

function writesMemory({ state }: RunContext, id: string): boolean {
  const task = state.task(id)
  return task.action.kind === 'builtin.memory.write' || task.memoryWrites.length > 0
}

function mayAsk({ plan, policy }: RunContext, id: string): boolean {
  const effects = plan.requirements.effects.filter(effect => effect.task === id)
  return effects.length === 0 ? policy.approval !== 'never' : effects.some(effect => effect.approvalPossible)
}

/** Absolute paths of the files of this workspace, or of a writable root, that an effect names. */
function filesOf({ host }: RunContext, facts: Facts): string[] {
  const { root } = host.workspace
  if (facts.kind === 'write' && facts.path.known) return [facts.path.absolute]
  if (facts.kind === 'read' && facts.path.known) return [path.resolve(root, facts.path.path)]
  if (facts.kind === 'container')
    return facts.container.known ? Object.keys(facts.container.argvFiles).map(file => path.resolve(root, file)) : []
  if (facts.kind !== 'process' || !facts.process.known) return []
  const { realPath, passed, interpreters } = facts.process
  const programs = [{ path: realPath, passed }, ...interpreters]
    .filter(program => program.passed.some(({ untrusted }) => untrusted === 'writable_root'))
    .map(program => program.path)
  return [...programs, ...Object.keys(facts.process.argvFiles).map(file => path.resolve(root, file))]
}

/** A process may touch anything, a write its own file, or anything while that is not known. */
function mayTouch(context: RunContext, id: string, files: readonly string[]): boolean {
  if (files.length === 0) return false
  const { effectClass, kind } = context.state.task(id).action
  if (isLongTermMemory(kind)) return false
  if (effectClass === 'pure' || effectClass === 'observe' || effectClass === 'internal_state') return false
  if (effectClass !== 'workspace_mutate') return true
  const target = targetOf(context, id)
  return target === null || files.includes(target)
}

/** Where a write will go, as far as its path alone is known; null where it is not. */
function targetOf(context: RunContext, id: string): string | null {
  const task = context.state.task(id)
  const view = { memory: memoryFor(context, id), tasks: context.state.outputs }
  const scoped = scopeOfTask(context.plan, task, view)
  const path = scoped.ok ? resolveValue(task.with['path'] ?? null, scoped.scope) : scoped
  if (!path.ok || typeof path.value !== 'string') return null
  const { place } = writeFact(context.host.workspace, path.value)
  if (place === null) return null
  closeWritePlace(place)
  return place.fact.absolute
}
