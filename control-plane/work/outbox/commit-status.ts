import type { OutboxRow } from '../../../ledger/index.ts'
import type { PauseRecord, RunRecord } from '../../../ledger/port.ts'
import { statusDescription } from '../../../policy/approval/index.ts'
import type { StatusState } from '../../github/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { pageUrl } from '../addresses.ts'
import { textOf } from '../rows.ts'
import { done, failedCall, type Outcome } from './outcome.ts'

/** Sets `agentctl/<job>` on the commit that people look at: a pull request's head, not its merge commit. */
export async function commitStatus(context: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const { github, store } = context
  const pause = store.pause(textOf(row, 'pause'))
  const before = pause === null ? null : store.record(pause.run)
  if (pause === null || before === null || before.instance === null) return done()
  const run = await github.workflowRun(before.instance.workflowRunId)
  if (!run.ok && run.code !== 'not_found') return failedCall(run)
  const sha = run.ok ? run.value.headSha : before.instance.sha
  const record = store.record(pause.run) ?? before
  const current = store.pauses(pause.run).at(-1) ?? pause
  const answer = await github.setStatus(sha, {
    ...stateOf(record, current),
    context: `agentctl/${before.instance.job}`,
    targetUrl: current.issue?.url ?? pageUrl(context, pause.run),
  })
  return answer.ok ? done() : failedCall(answer)
}

/** Only a run that succeeded is green: an approval alone has done nothing yet. */
function stateOf(record: RunRecord, pause: PauseRecord): { state: StatusState; description: string } {
  const decided = statusDescription(pause)
  switch (record.state) {
    case 'paused':
      return { state: 'pending', description: decided }
    case 'running':
      return { state: 'pending', description: 'Resumed, running' }
    case 'succeeded':
      return { state: 'success', description: 'Succeeded' }
    case 'failed':
    case 'uncertain':
      return { state: 'failure', description: record.state === 'failed' ? 'Failed' : 'Uncertain: needs reconciliation' }
    case 'denied':
    case 'cancelled':
      return { state: 'failure', description: pause.state === 'resolved' ? decided : 'Cancelled' }
  }
}
