import type { PauseRecord, RunRecord } from '../../ledger/port.ts'
import type { PauseIssue } from '../../ledger/wire.ts'
import { type RenderedIssue, renderIssue } from '../../policy/approval/index.ts'
import { problem } from '../problem.ts'
import { instanceUrl, pageUrl } from '../work/addresses.ts'
import type { RepositoryContext } from './context.ts'

/** Title and body of a pause's issue, the same bytes whenever it is asked: what is opened and what is read back must match. */
export function renderPause(
  context: Pick<RepositoryContext, 'config' | 'repository'>,
  run: RunRecord,
  pause: PauseRecord,
): RenderedIssue {
  return renderIssue({
    run,
    pause,
    pageUrl: pageUrl(context, run.run),
    runUrl: run.instance === null ? null : instanceUrl(context, run.run, run.instance),
  })
}

/** The issue that a paused run's job has to open, or the one that is registered. Throws ProblemError 409 where it is not paused. */
export function pauseIssueOf(context: RepositoryContext, run: RunRecord): PauseIssue {
  const pause = run.pause === null ? null : context.store.pause(run.pause)
  if (pause === null) throw problem(409, 'not_paused', `run ${run.run} is ${run.state}: there is no issue to open`)
  const { issue } = pause
  return {
    pause: pause.pause,
    ...renderPause(context, run, pause),
    labels: run.settings.labels,
    registered: issue === null ? null : { number: issue.number, url: issue.url },
  }
}
