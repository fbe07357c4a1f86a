import path from 'node:path'
import type { Facts } from '../policy/decision/facts.ts'
import type { RunContext } from './context.ts'
import { type AskedEffect, propose } from './proposal.ts'
import { isOver } from './state.ts'

/**
 * What people can be asked about already (04, Look-ahead): effects further down the plan whose input is known in full and
 * whose files nothing unfinished can touch. What may ask once more is known is `later`.
 */
export async function lookAhead(
  context: RunContext,
  waiting: readonly AskedEffect[],
): Promise<{ ahead: AskedEffect[]; later: string[] }> {
  const { state } = context
  const known = new Map(waiting.map(asked => [asked.task.id, asked]))
  const ahead: AskedEffect[] = []
  const later: string[] = []
  for (const id of state.open) {
    if (known.has(id)) continue
    const after = dependentsOf(context, id)
    const before = state.open.filter(other => other !== id && !after.has(other))
    const memory = before.some(other => writesMemory(context, other)) ? {} : state.memory
    const proposal = await propose(context, id, { memory, tasks: state.outputs, ahead: true })
    if (proposal.kind === 'ready') proposal.prepared.close()
    if (proposal.kind === 'ask') {
      const files = filesOf(context, proposal.asked.facts)
      known.set(id, proposal.asked)
      if (before.every(other => !mayTouch(context, other, known.get(other), files))) ahead.push(proposal.asked)
      else later.push(id)
    }
    if (proposal.kind === 'failed' && mayAsk(context, id)) later.push(id)
  }
  return { ahead, later }
}

/** Tasks that can only run once this one has. */
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
  if (facts.kind !== 'process' || !facts.process.known) return []
  const program = facts.process.passed.some(({ untrusted }) => untrusted === 'writable_root')
    ? [facts.process.realPath]
    : []
  return [...program, ...Object.keys(facts.process.argvFiles).map(file => path.resolve(root, file))]
}

/** A process may touch anything, a write its own file, or anything while that is not known. */
function mayTouch(
  { state }: RunContext,
  id: string,
  asked: AskedEffect | undefined,
  files: readonly string[],
): boolean {
  if (files.length === 0 || isOver(state.status(id).state)) return false
  const { effectClass } = state.task(id).action
  if (effectClass === 'pure' || effectClass === 'observe' || effectClass === 'internal_state') return false
  if (effectClass !== 'workspace_mutate') return true
  if (asked?.facts.kind !== 'write' || !asked.facts.path.known) return true
  return files.includes(asked.facts.path.absolute)
}
