import { verifyAudit } from '../../ledger/index.ts'
import { type AttachAnswer, type AttachRequest, pauseIssueSchema } from '../../ledger/wire.ts'
import { approvalId } from '../../policy/binding.ts'
import type { JsonObject } from '../../policy/json.ts'
import { Client } from '../control-plane/client.ts'
import { Desk, type OpenJob, workflowPath } from '../control-plane/jobs.ts'
import type {
  Comment,
  GitHubDouble,
  Issue,
  Repository,
  RepositoryOptions,
  StartRun,
  Workflow,
} from '../github/index.ts'
import { create, effectOf, move, pauseFor, request, type TaskShape } from '../ledger/support/commands.ts'
import type { ControlPlane } from './control-plane.ts'

/** What a job asks people about, and how. */
export interface AskOptions {
  /** As the step's inputs ask; met with the floor by the control plane. */
  settings?: AttachRequest['settings']
  /** One item each. Default: one task `write`. */
  tasks?: TaskShape[]
  /** How the workflow run starts. Default: a push by `starter`. */
  start?: StartRun
  expiresInSeconds?: number
  resumeWith?: 'rerun' | 'workflow_dispatch'
  /** Called between opening and registering the issue. */
  opened?: (issue: Issue) => void | Promise<void>
}

/** A run that waits for people on its registered issue. */
export interface Asked {
  run: string
  pause: string
  issue: Issue
  /** Approval ids in the order of the items. */
  approvals: string[]
  /** Comments as that person; resolves when the control plane has taken the delivery. */
  say(login: string, body: string): Promise<Comment>
  /** Resolves when every comment so far has been judged, whatever it came to. */
  judged(): Promise<void>
  /** Outcome of each item, null while open. */
  outcomes(): Promise<(string | null)[]>
  /** Waits until every item has an outcome. */
  decided(): Promise<(string | null)[]>
  /** Events of the run in the verified chain. */
  events(): Promise<{ type: string; actor: string; data: JsonObject }[]>
  /** Codes of the notes in the chain, oldest first: what was refused, and why. */
  notes(): Promise<string[]>
  /** Logins whose approval or rejection was counted, in order. */
  voters(): Promise<string[]>
  /** Texts that our App wrote on the issue, oldest first. */
  replies(): string[]
  /** Re-runs and dispatches that GitHub was asked for in this repository. */
  starts(): number
}

/** A repository whose jobs pause at once: each speaks to the control plane as the Action does, with GitHub's own tokens. */
export interface AskingRepository {
  repository: Repository
  client: Client
  /** What later attempts were told at attach, oldest first. */
  resumed: AttachAnswer[]
  ask(options?: AskOptions): Promise<Asked>
  /** Pauses a run that this job has attached to. */
  pause(job: OpenJob, at: AttachAnswer & { token: string }, options?: AskOptions): Promise<Asked>
  /** The next job that nobody waits for: a dispatched one, with `takeDispatched` in its repository's options. */
  next(): Promise<OpenJob>
}

export interface AskingOptions extends Partial<RepositoryOptions> {
  on?: Workflow['on']
  /** Jobs of runs that the test did not start are left to `next()`. */
  takeDispatched?: boolean
}

const actionsBotId = 41_898_282

/** Adds a repository with one workflow; `starter` and four people have roles on it. */
export function askingRepository(
  github: GitHubDouble,
  plane: ControlPlane,
  { on = ['push', 'workflow_dispatch', 'pull_request'], takeDispatched = false, ...options }: AskingOptions,
): AskingRepository {
  const client = new Client(plane.url)
  const desk = new Desk((run, attempt, key) => {
    const jobs = github.runs.find(run).attempts.find(({ number }) => number === attempt)?.jobs ?? []
    const job = jobs.find(one => one.key === key)
    if (job === undefined) throw new Error(`no job ${key} in attempt ${attempt} of run ${run}`)
    return job
  })
  const name = options.name ?? 'octo/app'
  const repository = github.repositories.add({
    ...options,
    name,
    collaborators: {
      starter: 'write',
      alice: 'maintain',
      bob: 'write',
      carol: 'triage',
      dave: 'read',
      ...options.collaborators,
    },
    workflows: [desk.workflow({ on })],
  })
  const base = `/v1/repos/${name}`
  const reader = github.tokens.userToServer(github.users.ensure('dave'))
  const resumed: AttachAnswer[] = []
  const loose: OpenJob[] = []
  const wanted: { run: number; take: (job: OpenJob) => void }[] = []
  const waiting: ((job: OpenJob) => void)[] = []

  async function serve(): Promise<void> {
    for (;;) {
      const job = await desk.next()
      const index = wanted.findIndex(({ run }) => run === job.job.run)
      const [first] = index < 0 ? [] : wanted.splice(index, 1)
      if (first !== undefined) first.take(job)
      else if (takeDispatched) (waiting.shift() ?? (late => loose.push(late)))(job)
      else void goOn(job)
    }
  }
  void serve()

  /** A later attempt: attaches as the Action does and ends as it would. */
  async function goOn(job: OpenJob): Promise<void> {
    const answer = await client.attach(job)
    resumed.push(answer)
    job.end(answer.outcome === 'resume' ? 'success' : 'failure')
  }

  async function ask(options: AskOptions = {}): Promise<Asked> {
    const { promise, resolve } = Promise.withResolvers<OpenJob>()
    const handle = github.startRun(repository, workflowPath, { event: 'push', actor: 'starter', ...options.start })
    wanted.push({ run: handle.id, take: resolve })
    const job = await promise
    const at = await client.attach(job, { settings: options.settings ?? {} })
    const asked = await pause(job, at, options)
    await handle.completed()
    return asked
  }

  async function pause(job: OpenJob, at: AttachAnswer & { token: string }, options: AskOptions = {}): Promise<Asked> {
    const { tasks = [{ id: 'write' }], expiresInSeconds = 3600, resumeWith = 'rerun' } = options
    const isNew = at.outcome === 'new'
    const id = crypto.randomUUID()
    const asking = isNew ? tasks.filter(({ needs = [] }) => needs.length === 0) : tasks
    const expiresAt = new Date(Date.now() + expiresInSeconds * 1000).toISOString()
    const commands = [
      ...(isNew ? [create(tasks, { resumeWith })] : []),
      ...asking.flatMap(task => [request(at.run, task.id, 'ask'), move(task.id, 'waiting')]),
      pauseFor(
        at.run,
        id,
        asking.map(task => task.id),
        expiresAt,
      ),
    ]
    await must(client.post(`${base}/runs/${at.run}/commands`, at.token, { epoch: at.epoch, commands }))
    const shown = pauseIssueSchema.parse(await must(client.get(`${base}/runs/${at.run}/pause`, at.token)))
    const bot = github.users.byId(actionsBotId)
    if (bot === null) throw new Error('no github-actions[bot]')
    const issue = github.openIssue(repository, bot, shown)
    await options.opened?.(issue)
    await must(client.post(`${base}/runs/${at.run}/registration`, at.token, { pause: id, issue: issue.number }))
    job.end('failure')
    return askedOf(
      at.run,
      id,
      issue,
      asking.map(task => approvalId(effectOf(at.run, task.id), id)),
    )
  }

  async function must(replying: ReturnType<Client['get']>): Promise<unknown> {
    const { status, body } = await replying
    if (status !== 200) throw new Error(`the control plane answered ${status}: ${JSON.stringify(body)}`)
    return body
  }

  function askedOf(run: string, pause: string, issue: Issue, approvals: string[]): Asked {
    const asked: Asked = {
      run,
      pause,
      issue,
      approvals,
      async say(login, body) {
        const comment = github.comment(issue, github.users.ensure(login), body)
        await github.deliveries.idle()
        return comment
      },
      async judged() {
        // Deliveries of a repository are worked on in their order, all before any feedback: a last one tells of the others.
        const last = github.comment(issue, github.users.ensure('carol'), '/status')
        await github.until(() => last.reactions.length > 0)
      },
      async outcomes() {
        const records = await Promise.all(approvals.map(id => must(client.get(`${base}/approvals/${id}`, reader))))
        return records.map(record => (record as { resolution: { outcome: string } | null }).resolution?.outcome ?? null)
      },
      async decided() {
        await github.until(() => issue.state === 'closed')
        return asked.outcomes()
      },
      async events() {
        const lines = String(await must(client.get(`${base}/audit/export?run=${run}`, reader)))
          .trim()
          .split('\n')
        const verdict = await verifyAudit(lines)
        if (!verdict.ok) throw new Error(`the chain of ${run} does not verify: ${JSON.stringify(verdict)}`)
        return lines.map(line => JSON.parse(line)).filter(event => event.chain === `run/${run}`)
      },
      notes: async () =>
        (await asked.events()).filter(({ type }) => type === 'note.added').map(({ data }) => String(data['code'])),
      voters: async () =>
        (await asked.events())
          .filter(({ type }) => type === 'approval.voted')
          .map(({ data }) => String((data['person'] as JsonObject)['login'])),
      replies: () => issue.comments.filter(({ user }) => user.id === github.app.botId).map(({ body }) => body),
      starts: () =>
        github.requests.all.filter(
          ({ method, path }) =>
            method === 'POST' &&
            path.startsWith(`/repos/${name}/actions/`) &&
            /\/(rerun|rerun-failed-jobs|dispatches)$/.test(path),
        ).length,
    }
    return asked
  }

  return {
    repository,
    client,
    resumed,
    ask,
    pause,
    next: () => {
      const first = loose.shift()
      if (first !== undefined) return Promise.resolve(first)
      const { promise, resolve } = Promise.withResolvers<OpenJob>()
      waiting.push(resolve)
      return promise
    },
  }
}
