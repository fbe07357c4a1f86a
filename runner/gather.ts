import type { ContainerFact, ProcessFact } from '../policy/decision/facts.ts'
import { artifactRefusal, budgetRefusal, exceedsArtifacts, exceedsOutput, writtenBytes } from './budgets.ts'
import type { RunContext } from './context.ts'
import { controlMove } from './expansion/control.ts'
import { readinessOf } from './expansion/readiness.ts'
import { isWithin } from './facts/canonical-path.ts'
import type { Draft } from './journal.ts'
import { moveTask } from './moves.ts'
import { type AskedEffect, type Proposal, propose, type View } from './proposal.ts'
import { settle } from './settle.ts'
import type { Slot } from './slot.ts'
import { isOver } from './state.ts'

/** Proposes ready tasks until the batch is full; what needs no executor is settled on the way. */
export async function gather(context: RunContext): Promise<{ slots: Slot[]; settled: boolean }> {
  const { state, plan } = context
  const slots: Slot[] = []
  const view = { memory: state.memory, tasks: state.outputs }
  let settled = false
  let reserved = 0
  state.sweepIfMany()
  for (const id of state.open) {
    if (slots.length >= plan.maxConcurrency || state.mustStop() || context.stop.aborted) break
    const { state: taskState, deferred } = state.status(id)
    if (deferred || isOver(taskState)) continue
    const readiness = readinessOf(state, id)
    if (readiness === 'blocked') continue
    if (readiness !== 'ready') {
      context.carry.push(await moveTask(context, id, readiness))
      settled = true
      continue
    }
    if (state.task(id).control !== undefined) {
      context.carry.push(...(await settleControl(context, id, slots, view)))
      settled = true
      continue
    }
    const proposal = withinBudgets(context, slots, id, await propose(context, id, view))
    if (proposal.kind !== 'ready') {
      context.carry.push(...(await settle(context, id, proposal)))
      settled = true
      continue
    }
    const bytes = writtenBytes(proposal.asked)
    const { root } = context.host.workspace
    const overlaps = slots.some(
      ({ asked }) => samePlace(asked, proposal.asked) || disturbs(root, asked, proposal.asked),
    )
    const together = [...slots.map(slot => slot.asked), proposal.asked]
    const exceeds = exceedsArtifacts(context, reserved + bytes) || exceedsOutput(context, together)
    if (overlaps || (slots.length > 0 && exceeds)) {
      proposal.prepared.close()
      break
    }
    if (exceedsArtifacts(context, bytes)) {
      proposal.prepared.close()
      context.carry.push(...(await settle(context, id, artifactRefusal(context, proposal.condition))))
      settled = true
      continue
    }
    reserved += bytes
    slots.push({ id, ...proposal })
  }
  return { slots, settled }
}

/** Computes a task that has no effect of its own. */
async function settleControl(context: RunContext, id: string, slots: readonly Slot[], view: View): Promise<Draft[]> {
  const move = await controlMove(context, context.state.task(id), view)
  const refusal = move.to === 'succeeded' ? budgetRefusal(context, id, slots) : null
  return refusal === null ? [await moveTask(context, id, move)] : settle(context, id, refusal)
}

/** What would begin and may not any more, since a budget is used up, fails; what does not begin uses up nothing. */
function withinBudgets(context: RunContext, slots: readonly Slot[], id: string, proposal: Proposal): Proposal {
  if (proposal.kind !== 'ready' && proposal.kind !== 'ask') return proposal
  const refusal = budgetRefusal(context, id, slots)
  if (refusal === null) return proposal
  if (proposal.kind === 'ready') proposal.prepared.close()
  return { ...refusal, condition: proposal.condition }
}

/** Two writes of one file or value never share a batch: the second one's decision is about the first one's result. */
function samePlace(left: AskedEffect, right: AskedEffect): boolean {
  const place = writtenPlace(left)
  return place !== null && place === writtenPlace(right)
}

/**
 * A process that names files of the workspace shares no batch with another process or a write, which could change them
 * between the last look at them and their being read.
 */
function disturbs(root: string, left: AskedEffect, right: AskedEffect): boolean {
  return (namesFiles(root, left) && mayWriteFiles(right)) || (namesFiles(root, right) && mayWriteFiles(left))
}

function mayWriteFiles({ facts }: AskedEffect): boolean {
  // A container writes nothing of the workspace, but its secret helpers are processes of the host.
  const hasHelpers = facts.kind === 'container' && facts.container.known && helpersOf(facts.container).length > 0
  return facts.kind === 'process' || facts.kind === 'write' || hasHelpers
}

/** Whether arguments of the process, or of a secret helper of its, name files of the workspace, or it is a script there. */
function namesFiles(root: string, { facts }: AskedEffect): boolean {
  if (facts.kind === 'container')
    return facts.container.known && [facts.container, ...helpersOf(facts.container)].some(namesSome)
  if (facts.kind !== 'process' || !facts.process.known) return false
  const { process } = facts
  const helpers = Object.values(process.environment).flatMap(one => ('helper' in one ? [one.program] : []))
  return [process, ...helpers].some(
    one => one.known && (Object.keys(one.argvFiles).length > 0 || isWorkspaceScript(root, one)),
  )
}

function helpersOf({ environment }: ContainerFact & { known: true }): (ProcessFact & { known: true })[] {
  return Object.values(environment).flatMap(one => ('helper' in one && one.program.known ? [one.program] : []))
}

function namesSome({ argvFiles }: { argvFiles: object }): boolean {
  return Object.keys(argvFiles).length > 0
}

/** Its interpreter reads it by itself, piece by piece; a binary is held by its descriptor and cannot be written while it runs. */
function isWorkspaceScript(root: string, { realPath, interpreters }: ProcessFact & { known: true }): boolean {
  return interpreters.length > 0 && [realPath, ...interpreters.map(one => one.path)].some(one => isWithin(root, one))
}

function writtenPlace({ facts, task }: AskedEffect): string | null {
  if (facts.kind === 'write') return facts.path.known ? facts.path.absolute : null
  if (facts.kind !== 'ledger' || task.action.effectClass === 'observe') return null
  return `long-term memory ${JSON.stringify([facts.ledger.namespace, facts.ledger.key])}`
}
