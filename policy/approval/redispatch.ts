import { code } from './markdown.ts'
import type { RedispatchChoice, RedispatchFacts, RedispatchFailure } from './redispatch-facts.ts'

/** GitHub re-runs a workflow run for 30 days, and 50 times. */
const rerunDaysMax = 30
const attemptsMax = 50

/**
 * How a resolved pause goes on (04, Resuming): the paused job again; every failed job at once where all of them are
 * resolved pauses of ours; a new run by dispatch where that was asked for or nothing else is possible; else nothing.
 */
export function chooseRedispatch(facts: RedispatchFacts): RedispatchChoice {
  const { newerRun } = facts
  if (newerRun !== null && facts.onSuperseded === 'refuse') {
    const reason = `a newer run of the same workflow and ref exists: ${newerRun.url}`
    return nothing('superseded', reason, 'decide there; the floor sets onSuperseded: refuse')
  }
  if (facts.workflowState !== 'active') {
    const reason = `the workflow is not active (${facts.workflowState})`
    return nothing(
      'workflow_disabled',
      reason,
      'enable it, then re-run the job by hand within 30 days of the first attempt',
    )
  }
  const warning = newerRun === null ? '' : `A newer run of the same workflow and ref exists: ${newerRun.url}`
  if (facts.resumeWith === 'workflow_dispatch') return dispatch(facts, warning)
  const rerun = chooseRerun(facts, warning)
  if (rerun.kind !== 'nothing') return rerun
  const fallback = dispatch(facts, [`A re-run is not possible: ${rerun.reason}.`, warning].filter(Boolean).join(' '))
  return fallback.kind === 'nothing' ? rerun : fallback
}

function chooseRerun(facts: RedispatchFacts, warning: string): RedispatchChoice {
  const { workflowRun, jobs, jobId } = facts
  const byHand = 'start the workflow by hand; its effects ask for approval again'
  if (facts.rerunRefused !== null) return nothing('rerun_refused', facts.rerunRefused, byHand)
  // Written so that an unreadable time counts as too old.
  const age = Date.parse(facts.now) - Date.parse(workflowRun.createdAt)
  if (!(age < rerunDaysMax * 86_400_000)) {
    return nothing('too_old', `the workflow run is older than ${rerunDaysMax} days`, byHand)
  }
  if (workflowRun.attempt >= attemptsMax) {
    return nothing(
      'too_many_attempts',
      `the workflow run has had ${workflowRun.attempt} attempts, GitHub allows ${attemptsMax}`,
      byHand,
    )
  }
  if (workflowRun.status !== 'completed') {
    const running = jobs.find(job => job.status !== 'completed')?.name ?? `run ${workflowRun.id}`
    return { kind: 'wait', job: running, reason: 'GitHub re-runs a job only once its whole workflow run has completed' }
  }
  const failed = jobs.filter(job => job.conclusion !== null && failedConclusions.has(job.conclusion))
  const isAllOurs = failed.every(job => job.isResolvedPause)
  if (failed.length > 1 && isAllOurs && failed.some(job => job.id === jobId)) {
    return { kind: 'rerun_failed_jobs', workflowRunId: workflowRun.id, warning }
  }
  if (jobId !== null) return { kind: 'rerun_job', jobId, warning }
  return nothing(
    'job_not_found',
    'the paused job cannot be told among the jobs of the latest attempt',
    're-run the failed jobs of the workflow run by hand: what was approved goes on, what still waits says so again',
  )
}

/** What `rerun-failed-jobs` runs again. */
const failedConclusions: ReadonlySet<string> = new Set([
  'failure',
  'cancelled',
  'timed_out',
  'startup_failure',
  'action_required',
  'stale',
])

function dispatch(facts: RedispatchFacts, warning: string): RedispatchChoice {
  const { ref, sha } = facts
  if (ref === null || ref.sha !== sha) {
    const where =
      ref === null
        ? 'no branch or tag is recorded'
        : ref.sha === null
          ? `${code(ref.name)} is gone`
          : `${code(ref.name)} now points at ${ref.sha}`
    return nothing(
      'ref_moved',
      `${where}, and the approved commit is ${sha}`,
      'run the workflow at the commit that is meant; its effects ask for approval again',
    )
  }
  if (!facts.dispatchInputDeclared) {
    const remedy = 'declare `agentctl-run` under on.workflow_dispatch.inputs, or use resume-with: rerun'
    return nothing('input_missing', 'the workflow does not declare the input agentctl-run', remedy)
  }
  return { kind: 'workflow_dispatch', ref: ref.name, warning }
}

function nothing(code: RedispatchFailure, reason: string, remedy: string): RedispatchChoice {
  return { kind: 'nothing', code, reason, remedy }
}
