import { makeCommit } from '../git.ts'
import type { Commit, Pull, User, WorkflowRecord } from '../model.ts'
import type { Repository } from '../repository.ts'
import { iso, type World } from '../world.ts'
import type { StartRun } from './runs.ts'
import type { WorkflowRun } from './state.ts'
import type { Workflow } from './workflow.ts'

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
  const ref = pull ? `refs/pull/${start.pull?.number}/merge` : fullRef(start.ref ?? record.defaultBranch, repository)
  const branch = ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : null
  const tag = ref.startsWith('refs/tags/') ? ref.slice('refs/tags/'.length) : null
  const headSha = pull?.head.sha ?? (branch === null ? record.tags.get(tag ?? '') : record.branches.get(branch))
  if (headSha === undefined) throw new Error(`${repository.fullName} has no ${ref}`)
  const headRepository = pull?.head.repository ?? record
  const head = headRepository.commits.get(headSha) ?? record.commits.get(headSha)
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
    sha: pull ? mergeCommit(world, repository, pull).sha : headSha,
    headRepository,
    headRef: pull?.head.ref ?? '',
    baseRef: pull?.base.ref ?? '',
    pull: start.pull ?? null,
    untrusted: (pull !== null && headRepository !== record) || actor.login === 'dependabot[bot]',
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

/** The parts of GITHUB_EVENT_PATH's payload that jobs read. */
function eventPayload(run: WorkflowRun, start: StartRun): object {
  const { repository, actor } = run
  const common = {
    repository: {
      id: repository.id,
      full_name: `${repository.owner.login}/${repository.name}`,
      private: repository.private,
    },
    sender: { id: actor.id, login: actor.login, type: actor.type },
  }
  if (run.pull?.pull) {
    const { head, base } = run.pull.pull
    const repo = (record: WorkflowRun['repository']) => ({
      id: record.id,
      full_name: `${record.owner.login}/${record.name}`,
      fork: record.fork,
    })
    return {
      action: 'synchronize',
      number: run.pull.number,
      pull_request: {
        number: run.pull.number,
        user: { id: run.pull.user.id, login: run.pull.user.login },
        head: { ref: head.ref, sha: head.sha, repo: repo(head.repository) },
        base: { ref: base.ref, sha: base.sha, repo: repo(repository) },
      },
      ...common,
    }
  }
  if (run.event === 'workflow_dispatch')
    return { ref: run.ref, inputs: run.inputs, workflow: run.workflow.path, ...common }
  if (run.event === 'workflow_run' && start.follows) {
    const { follows } = start
    return {
      action: 'completed',
      workflow_run: {
        id: follows.id,
        head_sha: follows.headSha,
        actor: { id: follows.actor.id, login: follows.actor.login },
      },
      ...common,
    }
  }
  const head = repository.commits.get(run.headSha)
  return {
    ref: run.ref,
    before: head?.parents[0] ?? '0'.repeat(40),
    after: run.headSha,
    head_commit: head ? { id: head.sha, message: head.message, timestamp: iso(head.at) } : null,
    commits: head ? [{ id: head.sha, message: head.message }] : [],
    ...common,
  }
}
