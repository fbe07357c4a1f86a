import type { RepositoryRecord, WorkflowRecord } from '../model.ts'
import { callers } from '../runner/expand.ts'
import type { JobAttempt, RunAttempt, WorkflowRun } from '../runner/state.ts'
import type { Workflow } from '../runner/workflow.ts'
import { iso, maybeIso, nodeId, type World } from '../world.ts'
import { simpleCommit } from './commits.ts'
import { simpleUser } from './people.ts'
import { minimalRepository } from './repository.ts'

const urls = (world: World, record: RepositoryRecord) => ({
  api: `${world.apiUrl}/repos/${record.owner.login}/${record.name}`,
  html: `${world.serverUrl}/${record.owner.login}/${record.name}`,
})

/** GitHub's `workflow`. */
export function workflow(world: World, record: RepositoryRecord, one: WorkflowRecord<Workflow>) {
  const { api, html } = urls(world, record)
  return {
    id: one.id,
    node_id: nodeId('W', one.id),
    name: one.name,
    path: one.path,
    state: one.state,
    created_at: iso(one.createdAt),
    updated_at: iso(one.createdAt),
    url: `${api}/actions/workflows/${one.id}`,
    html_url: `${html}/blob/${record.defaultBranch}/${one.path}`,
    badge_url: `${html}/workflows/${encodeURIComponent(one.name)}/badge.svg`,
  }
}

/** GitHub's `workflow-run`, as of one attempt. */
export function workflowRun(world: World, run: WorkflowRun, attempt: RunAttempt) {
  const { api, html } = urls(world, run.repository)
  const url = `${api}/actions/runs/${run.id}`
  const head = run.headRepository.commits.get(run.headSha) ?? run.repository.commits.get(run.headSha)
  return {
    id: run.id,
    name: run.workflow.name,
    node_id: nodeId('WFR', run.id),
    head_branch: run.headBranch,
    head_sha: run.headSha,
    path: run.workflow.path,
    display_title: run.displayTitle,
    run_number: run.number,
    event: run.event,
    status: attempt.status,
    conclusion: attempt.conclusion,
    workflow_id: run.workflow.id,
    check_suite_id: run.id + 1,
    check_suite_node_id: nodeId('CS', run.id + 1),
    url,
    html_url: `${html}/actions/runs/${run.id}`,
    pull_requests: run.pull?.pull && run.headRepository === run.repository ? [pullReference(world, run)] : [],
    created_at: iso(run.createdAt),
    updated_at: iso(attempt.updatedAt),
    actor: simpleUser(world, run.actor),
    run_attempt: attempt.number,
    referenced_workflows: referenced(run, attempt),
    run_started_at: iso(attempt.startedAt),
    triggering_actor: simpleUser(world, attempt.triggeringActor),
    jobs_url: `${url}/jobs`,
    logs_url: `${url}/logs`,
    check_suite_url: `${api}/check-suites/${run.id + 1}`,
    artifacts_url: `${url}/artifacts`,
    cancel_url: `${url}/cancel`,
    rerun_url: `${url}/rerun`,
    previous_attempt_url: attempt.number > 1 ? `${url}/attempts/${attempt.number - 1}` : null,
    workflow_url: `${api}/actions/workflows/${run.workflow.id}`,
    head_commit: head ? simpleCommit(head) : null,
    repository: minimalRepository(world, run.repository),
    head_repository: minimalRepository(world, run.headRepository),
  }
}

/** The reusable workflows that its jobs call. */
function referenced(run: WorkflowRun, attempt: RunAttempt) {
  const paths = new Set(attempt.jobs.flatMap(job => callers(job.call).map(call => call.workflow.path)))
  const name = `${run.repository.owner.login}/${run.repository.name}`
  return [...paths].map(path => ({ path: `${name}/${path}@${run.ref}`, sha: run.sha, ref: run.ref }))
}

function pullReference(world: World, run: WorkflowRun) {
  const { api } = urls(world, run.repository)
  const { pull } = run
  const repo = { id: run.repository.id, url: api, name: run.repository.name }
  return {
    url: `${api}/pulls/${pull?.number ?? 0}`,
    id: pull?.id ?? 0,
    number: pull?.number ?? 0,
    head: { ref: run.headRef, sha: run.headSha, repo },
    base: { ref: run.baseRef, sha: pull?.pull?.base.sha ?? '', repo },
  }
}

/** GitHub's `job`. */
export function job(world: World, run: WorkflowRun, one: JobAttempt) {
  const { api, html } = urls(world, run.repository)
  return {
    id: one.id,
    run_id: run.id,
    workflow_name: run.workflow.name,
    head_branch: run.headBranch,
    run_url: `${api}/actions/runs/${run.id}`,
    run_attempt: one.attempt,
    node_id: nodeId('CR', one.id),
    head_sha: run.headSha,
    url: `${api}/actions/jobs/${one.id}`,
    html_url: `${html}/actions/runs/${run.id}/job/${one.id}`,
    status: one.status,
    conclusion: one.conclusion,
    created_at: iso(one.createdAt),
    started_at: iso(one.startedAt),
    completed_at: maybeIso(one.completedAt),
    name: one.name,
    steps: one.steps.map(step => ({
      name: step.name,
      status: 'completed',
      conclusion: step.conclusion,
      number: step.number,
      started_at: iso(step.startedAt),
      completed_at: iso(step.completedAt),
    })),
    check_run_url: `${api}/check-runs/${one.id}`,
    labels: ['self-hosted'],
    runner_id: one.runnerName === null ? null : 1,
    runner_name: one.runnerName,
    runner_group_id: one.runnerName === null ? null : 1,
    runner_group_name: one.runnerName === null ? null : 'Default',
  }
}
