import { pauseIssueOf } from '../../control-plane/repository/issue.ts'
import { verifyRegistration } from '../../control-plane/work/index.ts'
import type { Instance, Requester } from '../../ledger/commands.ts'
import type { PauseRecord, RunRecord } from '../../ledger/port.ts'
import { type ApprovalSettings, defaultApprovalSettings } from '../../policy/approval/record.ts'
import type { Issue, RunHandle } from '../github/index.ts'
import { create, instanceOf, move, pauseFor, request } from '../ledger/support/commands.ts'
import type { World } from './world.ts'

export interface PauseOptions {
  settings?: Partial<ApprovalSettings>
  requesters?: Requester[]
  tasks?: { id: string; failure?: 'stop' | 'continue'; needs?: string[] }[]
  /** Tasks that stay behind the pause, asked about by nobody. */
  behind?: { id: string; needs?: string[] }[]
  job?: string
  pullRequest?: number
  expiresInSeconds?: number
  resumeWith?: 'rerun' | 'workflow_dispatch'
}

export interface Paused {
  handle: RunHandle
  run: string
  pause: string
  issue: Issue
}

/** A workflow run whose job paused, its issue opened by the job and registered: where every test of deciding begins. */
export async function pausedRun(world: World, options: PauseOptions = {}): Promise<Paused> {
  const handle = await world.startRun()
  const paused = recordPause(world, handle, options)
  const issue = openIssue(world, paused.run)
  const answer = await verifyRegistration(world.context, paused.run, paused.pause, issue.number)
  if (!answer.ok) throw new Error(answer.refusal.message)
  return { handle, ...paused, issue }
}

/** The same without an issue. */
export function recordPause(
  world: World,
  handle: RunHandle,
  options: PauseOptions = {},
): { run: string; pause: string } {
  const tasks = options.tasks ?? [{ id: 'write' }]
  const job = handle.job(options.job)
  const instance: Instance = instanceOf(`instance of ${handle.id} ${job.name}`, {
    repositoryId: world.repository.id,
    workflowRunId: handle.id,
    attempt: handle.attempt().number,
    job: job.name,
    jobId: job.id,
    workflowRef: 'org/app/.github/workflows/release.yml@refs/heads/main',
    sha: world.repository.head().sha,
    actor: 'owner',
    actorId: world.people.owner.id,
    pullRequest: options.pullRequest ?? null,
  })
  const behind = options.behind ?? []
  const { run, epoch } = world.store.reserve({
    instance,
    settings: { ...defaultApprovalSettings, ...options.settings },
    requesters: options.requesters ?? [{ id: world.people.owner.id, login: 'owner', role: 'actor' }],
    parent: null,
  })
  const pause = crypto.randomUUID()
  const expiresAt = new Date(
    world.clock.now().getTime() + (options.expiresInSeconds ?? 7 * 86_400) * 1000,
  ).toISOString()
  world.store.apply(
    {
      run,
      epoch,
      commands: [
        create([...tasks, ...behind], { resumeWith: options.resumeWith ?? 'rerun' }),
        ...tasks.flatMap(({ id }) => [request(run, id, 'ask'), move(id, 'waiting')]),
        pauseFor(
          run,
          pause,
          tasks.map(({ id }) => id),
          expiresAt,
        ),
      ],
    },
    `job:${handle.id}/1`,
  )
  return { run, pause }
}

/** Opens the issue as the job's token does. */
export function openIssue(world: World, run: string, change: (body: string) => string = body => body): Issue {
  const record = recordOf(world, run)
  const { title, body, labels } = pauseIssueOf(world.context, record)
  return world.github.openIssue(world.repository, world.people.actionsBot, { title, body: change(body), labels })
}

export function recordOf(world: World, run: string): RunRecord {
  const record = world.store.record(run)
  if (record === null) throw new Error(`no run ${run}`)
  return record
}

export function pauseOf(world: World, pause: string): PauseRecord {
  const found = world.store.pause(pause)
  if (found === null) throw new Error(`no pause ${pause}`)
  return found
}

/** Outcome of each item, by number; null while open. */
export function outcomes(world: World, pause: string): (string | null)[] {
  return pauseOf(world, pause).items.map(item => item.resolution?.outcome ?? null)
}

/** Takes the lease as the resumed job does at attach. */
export function attachAgain(world: World, run: string, workflowRunId: number, attempt: number): boolean {
  const holder = { kind: 'job', workflowRunId, attempt } as const
  return world.store.acquire(run, holder, `job:${workflowRunId}/${attempt}`).taken
}

/** Jobs of later attempts take the lease of their run and succeed, as a resumed Action does; first attempts pause. */
export function resumeReruns(world: World): void {
  world.onJob = ({ attempt, environment }) => {
    if (attempt > 1) {
      const workflowRunId = Number(environment['GITHUB_RUN_ID'])
      for (const { run, instance } of world.store.runs({ state: 'paused', limit: 100 }).items) {
        if (instance?.workflowRunId === workflowRunId && attachAgain(world, run, workflowRunId, attempt)) return
      }
    }
    throw new Error('paused')
  }
}

/** Comments by our App on an issue. */
export function ownComments(world: World, issue: Issue): string[] {
  return issue.comments.filter(({ user }) => user.id === world.github.app.botId).map(({ body }) => body)
}

/** Codes of the notes in a run's chain, oldest first. */
export function notes(world: World, run: string): string[] {
  return [...world.store.exportLines(run)]
    .map(line => JSON.parse(line))
    .filter(event => event.type === 'note.added')
    .map(event => event.data.code)
}

/** Calls that start something: re-runs and dispatches. */
export function starts(world: World): number {
  const { requests } = world.github
  return (
    requests.count('POST /repos/{owner}/{repo}/actions/jobs/{job_id}/rerun') +
    requests.count('POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs') +
    requests.count('POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches')
  )
}
