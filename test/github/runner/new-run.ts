import { makeCommit } from '../git.ts'
import type { Commit, Issue, Pull, User, WorkflowRecord } from '../model.ts'
import type { Repository } from '../repository.ts'
import type { World } from '../world.ts'
import { eventPayload } from './event-payload.ts'
import type { WorkflowRun } from './state.ts'
import type { RunningProcess } from './step.ts'
import type { Workflow } from './workflow.ts'

export interface StartRun {
  /** Default: `push` where the workflow has it, else its first. */
  event?: string
  /** Default: the owner (a person named like an organisation never acts, so give one there). */
  actor?: User | string
  /** Branch name or full ref. Default: the default branch; for a pull request its merge ref. */
  ref?: string
  inputs?: { readonly [name: string]: string }
  /** Added to the event's payload. */
  payload?: object
  /** Runs for this pull request (event `pull_request`). */
  pull?: Issue
  /** The run that a `workflow_run` event follows. */
  follows?: WorkflowRun
  /** Called with every process of the run as it starts, re-runs included. */
  onProcess?: (process: RunningProcess) => void
  /** Milliseconds after its start at which a process gets SIGKILL; null lets it live. Asked for every process. */
  killAt?: (process: RunningProcess) => number | null
}

/** A run as the event makes it, without attempts yet. Throws where the ref does not exist. */
export function newRun(
  world: World,
  repository: Repository,
  workflow: WorkflowRecord<Workflow>,
  start: StartRun,
  { actor, number }: { actor: User; number: number },
): WorkflowRun {
  const { record } = repository
  const events = workflow.definition.on
  const event = start.event ?? (start.pull ? 'pull_request' : events.includes('push') ? 'push' : (events[0] ?? 'push'))
  const pull = start.pull?.pull ?? null
  // pull_request_target runs the base branch's commit and workflow, with its secrets.
  const merges = pull !== null && event !== 'pull_request_target'
  const ref = merges
    ? `refs/pull/${start.pull?.number}/merge`
    : fullRef(start.ref ?? pull?.base.ref ?? record.defaultBranch, repository)
  const branch = ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : null
  const tag = ref.startsWith('refs/tags/') ? ref.slice('refs/tags/'.length) : null
  const headSha = pull?.head.sha ?? (branch === null ? record.tags.get(tag ?? '') : record.branches.get(branch))
  if (headSha === undefined) throw new Error(`${repository.fullName} has no ${ref}`)
  const headRepository = pull?.head.repository ?? record
  const head = headRepository.commits.get(headSha) ?? record.commits.get(headSha)
  const trust = trustOf(event, actor, merges && headRepository !== record)
  const run: WorkflowRun = {
    id: world.id(),
    number,
    repository: record,
    workflow: { id: workflow.id, name: workflow.name, path: workflow.path },
    definition: workflow.definition,
    event,
    actor,
    ref,
    headBranch: pull?.head.ref ?? branch ?? tag,
    headSha,
    sha: merges ? mergeCommit(world, repository, pull).sha : pull ? repository.head(pull.base.ref).sha : headSha,
    headRepository,
    headRef: pull?.head.ref ?? '',
    baseRef: pull?.base.ref ?? '',
    pull: start.pull ?? null,
    trust,
    secrets: trust === 'full' ? repository.secrets : trust === 'dependabot' ? repository.dependabotSecrets : {},
    inputs: start.inputs ?? {},
    payload: {},
    displayTitle: start.pull?.title ?? head?.message.split('\n')[0] ?? workflow.name,
    createdAt: world.now(),
    attempts: [],
  }
  run.payload = { ...eventPayload(run, start), ...start.payload }
  return run
}

/** The commit of refs/pull/N/merge, which GITHUB_SHA names in a pull request's run while the API shows the head's. */
function mergeCommit(world: World, repository: Repository, pull: Pull): Commit {
  const base = repository.head(pull.base.ref)
  const head = pull.head.repository.commits.get(pull.head.sha) ?? base
  const web = { name: 'GitHub', email: 'noreply@github.com', user: null }
  const commit = makeCommit({
    parents: [base.sha, head.sha],
    author: web,
    committer: web,
    at: world.now(),
    message: `Merge ${head.sha} into ${base.sha}`,
    files: new Map([...base.files, ...head.files]),
  })
  repository.record.commits.set(commit.sha, commit)
  return commit
}

const fullRef = (ref: string, repository: Repository): string => {
  if (ref.startsWith('refs/')) return ref
  return repository.record.tags.has(ref) && !repository.record.branches.has(ref)
    ? `refs/tags/${ref}`
    : `refs/heads/${ref}`
}

const DEPENDABOT_EVENTS = new Set([
  'pull_request',
  'pull_request_review',
  'pull_request_review_comment',
  'push',
  'create',
  'deployment',
  'deployment_status',
])

function trustOf(event: string, actor: User, fromFork: boolean): WorkflowRun['trust'] {
  if (actor.login === 'dependabot[bot]' && DEPENDABOT_EVENTS.has(event)) return 'dependabot'
  return fromFork ? 'fork' : 'full'
}
