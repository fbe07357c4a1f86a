import { iso } from '../world.ts'
import type { StartRun } from './new-run.ts'
import type { WorkflowRun } from './state.ts'

/** The parts of GITHUB_EVENT_PATH's payload that jobs read. */
export function eventPayload(run: WorkflowRun, start: StartRun): object {
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
