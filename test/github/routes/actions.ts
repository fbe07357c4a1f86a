import { type Call, onRepository, type Route } from '../call.ts'
import { notFound } from '../errors.ts'
import type { WorkflowRecord } from '../model.ts'
import { job as jobBody, workflow as workflowBody, workflowRun } from '../render/actions.ts'
import type { JobAttempt, RunAttempt, WorkflowRun } from '../runner/state.ts'
import type { Workflow } from '../runner/workflow.ts'
import { author } from './author.ts'

const READ = onRepository([['actions', 'read']])
const WRITE = onRepository([['actions', 'write']], 'write')

function findRun(call: Call): WorkflowRun {
  const run = call.services.runs.find(Number(call.params['run_id']))
  if (run.repository !== call.repository.record) throw notFound()
  return run
}

function findAttempt(call: Call, run: WorkflowRun): RunAttempt {
  const number = call.params['attempt_number']
  const attempt = number === undefined ? run.attempts.at(-1) : run.attempts[Number(number) - 1]
  if (!attempt) throw notFound()
  return attempt
}

function findJob(call: Call): { run: WorkflowRun; job: JobAttempt } {
  const found = call.services.runs.findJob(Number(call.params['job_id']))
  if (found.run.repository !== call.repository.record) throw notFound()
  return found
}

function findWorkflow(call: Call): WorkflowRecord<Workflow> {
  const wanted = call.params['workflow_id'] ?? ''
  const found = call.repository.workflows.find(one => String(one.id) === wanted || one.path.endsWith(`/${wanted}`))
  if (!found) throw notFound()
  return found
}

function listRuns(call: Call, runs: readonly WorkflowRun[]) {
  const { query, services } = call
  const found = runs.filter(run => {
    const attempt = run.attempts.at(-1)
    return (
      run.repository === call.repository.record &&
      (query['event'] === undefined || run.event === query['event']) &&
      (query['branch'] === undefined || run.headBranch === query['branch']) &&
      (query['head_sha'] === undefined || run.headSha === query['head_sha']) &&
      (query['actor'] === undefined || run.actor.login === query['actor']) &&
      (query['status'] === undefined ||
        attempt?.status === query['status'] ||
        attempt?.conclusion === query['status']) &&
      (query['created'] === undefined || createdIn(query['created'], run.createdAt))
    )
  })
  const newestFirst = [...found].reverse()
  return {
    list: newestFirst
      .flatMap(run => run.attempts.at(-1) ?? [])
      .map((attempt, i) => workflowRun(services.world, newestFirst[i] as WorkflowRun, attempt)),
    wrap: (page: unknown[], total: number) => ({ total_count: total, workflow_runs: page }),
  }
}

/** `>=2026-01-01T00:00:00Z`, `>...`, `<...`, `<=...` or `from..to`. */
function createdIn(range: string, at: Date): boolean {
  const seconds = Math.floor(at.getTime() / 1000)
  const time = (text: string) => Date.parse(text) / 1000
  const [from, to] = range.split('..')
  if (from !== undefined && to !== undefined)
    return (from === '*' || seconds >= time(from)) && (to === '*' || seconds <= time(to))
  const [, sign = '', date = ''] = /^(>=|>|<=|<)?(.*)$/.exec(range) ?? []
  if (sign === '>=') return seconds >= time(date)
  if (sign === '>') return seconds > time(date)
  if (sign === '<=') return seconds <= time(date)
  if (sign === '<') return seconds < time(date)
  return at.toISOString().startsWith(date)
}

const listJobs = (call: Call, run: WorkflowRun, jobs: readonly JobAttempt[]) => ({
  list: jobs.map(one => jobBody(call.services.world, run, one)),
  wrap: (page: unknown[], total: number) => ({ total_count: total, jobs: page }),
})

export const actionsRoutes: readonly Route[] = [
  {
    operation: 'GET /repos/{owner}/{repo}/actions/runs',
    access: READ,
    handle: call => listRuns(call, call.services.runs.all),
  },
  {
    operation: 'GET /repos/{owner}/{repo}/actions/runs/{run_id}',
    access: READ,
    handle: call => {
      const run = findRun(call)
      return { status: 200, body: workflowRun(call.services.world, run, findAttempt(call, run)) }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}',
    access: READ,
    handle: call => {
      const run = findRun(call)
      return { status: 200, body: workflowRun(call.services.world, run, findAttempt(call, run)) }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs',
    access: READ,
    handle: call => {
      const run = findRun(call)
      const all = call.query['filter'] === 'all'
      return listJobs(
        call,
        run,
        all ? run.attempts.flatMap(a => a.jobs.filter(j => !j.carried)) : findAttempt(call, run).jobs,
      )
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs',
    access: READ,
    handle: call => {
      const run = findRun(call)
      return listJobs(call, run, findAttempt(call, run).jobs)
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/actions/jobs/{job_id}',
    access: READ,
    handle: call => {
      const { run, job } = findJob(call)
      return { status: 200, body: jobBody(call.services.world, run, job) }
    },
  },
  {
    operation: 'POST /repos/{owner}/{repo}/actions/jobs/{job_id}/rerun',
    access: WRITE,
    handle: call => {
      call.services.runs.rerunJob(findJob(call).job, author(call.caller).user)
      return { status: 201, body: {} }
    },
  },
  {
    operation: 'POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs',
    access: WRITE,
    handle: call => {
      call.services.runs.rerunFailed(findRun(call), author(call.caller).user)
      return { status: 201, body: {} }
    },
  },
  {
    operation: 'POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun',
    access: WRITE,
    handle: call => {
      call.services.runs.rerun(findRun(call), author(call.caller).user)
      return { status: 201, body: {} }
    },
  },
  {
    operation: 'POST /repos/{owner}/{repo}/actions/runs/{run_id}/cancel',
    access: WRITE,
    handle: call => {
      call.services.runs.cancel(findRun(call))
      return { status: 202, body: {} }
    },
  },
  {
    operation: 'POST /repos/{owner}/{repo}/actions/runs/{run_id}/force-cancel',
    access: WRITE,
    handle: call => {
      call.services.runs.forceCancel(findRun(call))
      return { status: 202, body: {} }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/actions/workflows',
    access: READ,
    handle: ({ services, repository }) => ({
      list: repository.workflows.map(one => workflowBody(services.world, repository.record, one)),
      wrap: (page, total) => ({ total_count: total, workflows: page }),
    }),
  },
  {
    operation: 'GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}',
    access: READ,
    handle: call => ({
      status: 200,
      body: workflowBody(call.services.world, call.repository.record, findWorkflow(call)),
    }),
  },
  {
    operation: 'GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs',
    access: READ,
    handle: call => {
      const { id } = findWorkflow(call)
      return listRuns(
        call,
        call.services.runs.all.filter(run => run.workflow.id === id),
      )
    },
  },
  {
    operation: 'POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches',
    access: WRITE,
    handle: call => {
      const { services, repository, body } = call
      const inputs = Object.fromEntries(
        Object.entries((body['inputs'] as object | undefined) ?? {}).map(([name, value]) => [name, String(value)]),
      )
      const run = services.runs.dispatch(
        repository,
        findWorkflow(call),
        String(body['ref']),
        inputs,
        author(call.caller).user,
      )
      if (body['return_run_details'] !== true || !services.returnRunDetails) return { status: 204 }
      const path = `${repository.fullName}/actions/runs/${run.id}`
      return {
        status: 200,
        body: {
          workflow_run_id: run.id,
          run_url: `${services.world.apiUrl}/repos/${path}`,
          html_url: `${services.world.serverUrl}/${path}`,
        },
      }
    },
  },
]
