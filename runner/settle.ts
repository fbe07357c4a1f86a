import { type RunContext, report } from './context.ts'
import { requestDraft } from './drafts.ts'
import type { Draft } from './journal.ts'
import { moveTask } from './moves.ts'
import { reasonToAsk, type Settled } from './proposal.ts'

/** Records what a proposal came to without an executor. An effect that must be asked about waits for the pause. */
export async function settle(context: RunContext, id: string, proposal: Settled): Promise<Draft[]> {
  const { condition } = proposal
  switch (proposal.kind) {
    case 'ask':
      context.state.status(id).deferred = true
      report(context, {
        type: 'decision',
        task: id,
        outcome: 'ask',
        reason: reasonToAsk(proposal.asked),
        steps: proposal.asked.decision.steps,
      })
      return []
    case 'deny': {
      const { reason, steps } = proposal.asked.decision
      report(context, { type: 'decision', task: id, outcome: 'deny', reason, steps })
      const request = await requestDraft(context, proposal.asked)
      return [
        request,
        await moveTask(context, id, { to: 'denied', error: { code: 'policy_denied', message: reason }, condition }),
      ]
    }
    case 'skipped':
      return [await moveTask(context, id, { to: 'skipped', output: proposal.output, condition })]
    case 'unchanged':
      return [await moveTask(context, id, { to: 'succeeded', output: proposal.output, condition })]
    case 'failed':
    case 'decided': {
      const to = proposal.kind === 'failed' ? 'failed' : proposal.to
      return [await moveTask(context, id, { to, error: { code: proposal.code, message: proposal.message }, condition })]
    }
  }
}
