import { pauseIssueOf } from '../../control-plane/repository/issue.ts'
import { verifyRegistration } from '../../control-plane/work/index.ts'
import type { Instance, Requester } from '../../ledger/commands.ts'
import type { PauseRecord, RunRecord } from '../../ledger/port.ts'
import type { ApprovalSettings } from '../../policy/approval/record.ts'
import type { Issue, RunHandle } from '../github/index.ts'
import { begin, instanceOf, move, pauseFor, request } from '../ledger/support/commands.ts'
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
  const run = begin(world.store, [...tasks, ...behind], {
    instance,
    ...(options.settings && { settings: options.settings }),
    requesters: options.requesters ?? [{ id: world.people.owner.id, login: 'owner', role: 'actor' }],
  })
  const pause = crypto.randomUUID()
  const expiresAt = new Date(
    world.clock.now().getTime() + (options.expiresInSeconds ?? 7 * 86_400) * 1000,
  ).toISOString()
  world.store.apply(
    {
      run,
      epoch: 1,
      commands: [
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
