import type { CommandOf } from '../ledger/commands.ts'
import type { Json } from '../policy/json.ts'
import { commit, type RunContext, report } from './context.ts'
import { requestDraft, shownExpected } from './drafts.ts'
import type { Draft } from './journal.ts'
import { lookAhead } from './look-ahead.ts'
import { moveTask } from './moves.ts'
import { type AskedEffect, propose, reasonToAsk } from './proposal.ts'

/**
 * Pauses the run once nothing else can run: every effect that waits and every one that can be asked ahead, in one commit
 * that also gives the lease back. Facts are taken again first; null when one of the waiting ones no longer asks.
 */
export async function pauseRun(context: RunContext): Promise<string | null> {
  const waiting = await askAgain(context)
  if (waiting === null) return null
  const { ahead, later } = await lookAhead(context, waiting)
  const drafts: Draft[] = []
  const items: CommandOf<'run.pause'>['items'] = []
  for (const asked of [...waiting, ...ahead]) {
    if (!isRequested(context, asked)) drafts.push(await requestDraft(context, asked))
    items.push(await itemOf(context, asked))
  }
  for (const { task } of waiting)
    if (context.state.status(task.id).state !== 'waiting')
      drafts.push(await moveTask(context, task.id, { to: 'waiting' }))
  const pause = context.ports.ids.uuid()
  const expiresAt = new Date(context.ports.clock.now().getTime() + context.expiresAfterSeconds * 1_000).toISOString()
  await commit(context, [...drafts, { type: 'run.pause', pause, items, later: shortened(context, later), expiresAt }])
  return pause
}

/** The list stands in one row of 64 KiB; what is left out is said. */
function shortened(context: RunContext, later: readonly string[]): string[] {
  let room = 48_000
  const kept: string[] = []
  for (const id of later) {
    room -= id.length + 3
    if (room > 0) kept.push(id)
  }
  if (kept.length < later.length) {
    const message = `${later.length - kept.length} of ${later.length} tasks that will be asked later are not listed in the pause`
    report(context, { type: 'warning', message })
  }
  return kept
}

/** The waiting effects on the facts of now; a task that has something else to do is given back to the batches. */
async function askAgain(context: RunContext): Promise<AskedEffect[] | null> {
  const { state } = context
  const waiting: AskedEffect[] = []
  let changed = false
  for (const id of state.open) {
    const status = state.status(id)
    if (!status.deferred) continue
    const proposal = await propose(context, id, { memory: state.memory, tasks: state.outputs })
    if (proposal.kind === 'ready') proposal.prepared.close()
    if (proposal.kind === 'ask') {
      waiting.push(proposal.asked)
      status.condition = proposal.condition ?? status.condition
    } else {
      status.deferred = false
      changed = true
    }
  }
  return changed ? null : waiting
}

function isRequested({ state }: RunContext, { effect, bindingDigest }: AskedEffect): boolean {
  const known = state.effects.get(effect)
  return known?.state === 'waiting_for_approval' && known.bindingDigest === bindingDigest
}

async function itemOf(context: RunContext, asked: AskedEffect) {
  const { redactor } = context.host.secrets
  return {
    effect: asked.effect,
    bindingDigest: asked.bindingDigest,
    reason: redactor.text(reasonToAsk(asked)),
    expected: await context.journal.payload(shownExpected(redactor, asked.expected) as unknown as Json),
  }
}
