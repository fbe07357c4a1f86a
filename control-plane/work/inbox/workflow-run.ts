import type { RepositoryContext } from '../../repository/context.ts'
import type { EventPayload } from '../../webhooks/events.ts'
import { done, type InboxOutcome } from './outcome.ts'

/** A workflow run completed: whatever waited for it is due now. */
export function workWorkflowRun(context: RepositoryContext, payload: EventPayload<'workflow_run'>): InboxOutcome {
  const now = context.clock.now().toISOString()
  let woken = 0
  for (const row of context.store.outboxRows({ state: 'due', limit: 1000 })) {
    if (row.kind !== 'redispatch' || row.run === null) continue
    const started = row.payload['started']
    const waitsFor =
      typeof started === 'object' && started !== null && !Array.isArray(started)
        ? started['workflowRun']
        : context.store.record(row.run)?.instance?.workflowRunId
    if (waitsFor !== payload.workflow_run.id) continue
    context.store.deferOutbox(row.id, now)
    woken++
  }
  return done(woken === 0 ? 'nothing_waits' : 'woken')
}
