import { parse } from 'yaml'
import type { Caller } from './caller.ts'
import { readText } from './contents.ts'
import { readJob, readRun } from './read.ts'
import type { GitHubRepository, Job } from './types.ts'

type Actions = Pick<
  GitHubRepository,
  | 'workflowRun'
  | 'workflowRunAttempt'
  | 'workflowRuns'
  | 'workflowState'
  | 'job'
  | 'jobs'
  | 'rerunJob'
  | 'rerunFailed'
  | 'dispatch'
  | 'dispatchInputs'
>

const perPage = 100
const jobPages = 20

/** Workflow runs, their jobs, and the two ways to run them again. */
export function actions(call: Caller, at: { owner: string; repo: string }): Actions {
  return {
    workflowRun: run_id =>
      call({ what: `reading workflow run ${run_id}` }, async octokit =>
        readRun((await octokit.rest.actions.getWorkflowRun({ ...at, run_id })).data),
      ),
    workflowRunAttempt: (run_id, attempt_number) =>
      call({ what: `reading attempt ${attempt_number} of workflow run ${run_id}` }, async octokit =>
        readRun((await octokit.rest.actions.getWorkflowRunAttempt({ ...at, run_id, attempt_number })).data),
      ),
    workflowRuns: (workflow_id, branch) =>
      call({ what: `listing runs of workflow ${workflow_id}` }, async octokit => {
        const { data } = await octokit.rest.actions.listWorkflowRuns({ ...at, workflow_id, branch, per_page: 30 })
        return data.workflow_runs.map(readRun)
      }),
    workflowState: workflow_id =>
      call({ what: `reading workflow ${workflow_id}` }, async octokit => {
        const { data } = await octokit.rest.actions.getWorkflow({ ...at, workflow_id })
        return data.state
      }),
    job: job_id =>
      call({ what: `reading job ${job_id}` }, async octokit =>
        readJob((await octokit.rest.actions.getJobForWorkflowRun({ ...at, job_id })).data),
      ),
    jobs: (run_id, attempt_number) =>
      call({ what: `listing jobs of workflow run ${run_id}` }, async octokit => {
        const jobs: Job[] = []
        for (let page = 1; page <= jobPages; page++) {
          const query = { ...at, run_id, attempt_number, per_page: perPage, page }
          const { data } = await octokit.rest.actions.listJobsForWorkflowRunAttempt(query)
          jobs.push(...data.jobs.map(readJob))
          if (data.jobs.length < perPage || jobs.length >= data.total_count) break
        }
        return jobs
      }),
    rerunJob: job_id =>
      call({ what: `re-running job ${job_id}` }, async octokit => {
        await octokit.rest.actions.reRunJobForWorkflowRun({ ...at, job_id })
        return null
      }),
    rerunFailed: run_id =>
      call({ what: `re-running the failed jobs of workflow run ${run_id}` }, async octokit => {
        await octokit.rest.actions.reRunWorkflowFailedJobs({ ...at, run_id })
        return null
      }),
    dispatch: (workflow_id, ref, inputs) =>
      call({ what: `dispatching ${workflow_id} on ${ref}` }, async octokit => {
        const { data } = await octokit.rest.actions.createWorkflowDispatch({
          ...at,
          workflow_id,
          ref,
          inputs,
          return_run_details: true,
        })
        // Servers without return_run_details answer 204 and no body.
        const answer: unknown = data
        return { run: runIdOf(answer) }
      }),
    dispatchInputs: (path, ref) =>
      call({ what: `reading ${path} at ${ref}` }, async octokit => {
        const file = await readText(octokit, { ...at, path, ref })
        if (file !== null && 'fault' in file) throw new Error(`${file.source}: ${file.fault}`)
        return file === null ? null : declaredInputs(file.text)
      }),
  }
}

function runIdOf(answer: unknown): number | null {
  if (typeof answer !== 'object' || answer === null || !('workflow_run_id' in answer)) return null
  return typeof answer.workflow_run_id === 'number' ? answer.workflow_run_id : null
}

/** Inputs that a workflow file declares for `workflow_dispatch`; null where it has no such trigger. */
export function declaredInputs(text: string): string[] | null {
  const file: unknown = parse(text, { uniqueKeys: false, maxAliasCount: 100 })
  const triggers = member(file, 'on')
  if (triggers === 'workflow_dispatch') return []
  if (Array.isArray(triggers)) return triggers.includes('workflow_dispatch') ? [] : null
  if (typeof triggers !== 'object' || triggers === null || !('workflow_dispatch' in triggers)) return null
  const inputs = member(triggers.workflow_dispatch, 'inputs')
  return typeof inputs === 'object' && inputs !== null ? Object.keys(inputs) : []
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined
}
