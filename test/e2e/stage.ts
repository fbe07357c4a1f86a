import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifyAudit } from '../../ledger/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import { builtAction } from '../action/job.ts'
import type {
  Issue,
  Repository,
  RepositoryOptions,
  RunHandle,
  RunningProcess,
  ScriptStep,
  StepResult,
  Workflow,
} from '../github/index.ts'
import {
  documentPath,
  gateWorkflow,
  type Scene,
  type SceneOptions,
  startScene,
  workflowPath,
} from '../harness/scene.ts'

/**
 * One double and one control plane for a whole file; every test begins a play in a repository of its own, with an owner of
 * its own: GitHub counts content writes by installation.
 */
export interface Stage {
  scene: Scene
  begin(options: PlayOptions): Promise<Play>
  close(): Promise<void>
}

export interface PlayOptions {
  /** `spec` of the document. */
  spec: JsonObject
  files?: { readonly [path: string]: string }
  /** More inputs of the agentctl step. */
  with?: { readonly [input: string]: string }
  repository?: Partial<RepositoryOptions>
  /** Changes the workflow with its one job `gate`. */
  workflow?: (workflow: Workflow) => Workflow
  /** Reusable workflows that it calls. */
  called?: readonly Workflow[]
  onProcess?: (process: RunningProcess) => void
  /** false: the first attempt need not have ended when `begin` answers. */
  complete?: boolean
}

/** What one test does in its repository. */
export interface Play {
  repository: Repository
  handle: RunHandle
  /** The agentctl step of the latest attempt. */
  step(job?: string): StepResult
  /** A file of the latest attempt's workspace, null where there is none. */
  file(path: string, job?: string): string | null
  /** Issues with our marker, also forged ones, oldest first. */
  issues(): Issue[]
  /** Waits for the n-th of them, from 1. */
  issue(n?: number): Promise<Issue>
  say(issue: Issue, login: string, words: string): void
  /** bob says it on that issue (default: the first), and the attempt that follows has ended. */
  decide(words: string, issue?: Issue): Promise<void>
  /** A person re-runs all jobs; the attempt has ended. */
  again(): Promise<void>
  /** Asks the control plane as that person (default dave, who may read); the path goes on from the repository's. */
  ask(path: string, options?: { login?: string; body?: JsonObject }): Promise<{ status: number; body: JsonObject }>
  /** The verified audit chain of a run (default: the latest step's), types of events in order. */
  events(run?: string): Promise<AuditLine[]>
}

export interface AuditLine {
  type: string
  actor: string
  subject: string
  data: JsonObject
}

export async function openStage(options: SceneOptions = {}): Promise<Stage> {
  const action = await builtAction()
  const scene = await startScene({ ...options, github: { action: action.folder, ...options.github } })
  let count = 0
  return {
    scene,
    begin: async play => {
      const handle = begin(scene, play, `octo-${++count}/app`)
      if (play.complete !== false) await handle.handle.completed()
      return handle
    },
    close: async () => {
      action.remove()
      await scene.close()
    },
  }
}

function begin(scene: Scene, options: PlayOptions, name: string): Play {
  const { github } = scene
  const workflow = gateWorkflow(scene.controlPlane.url, options.with)
  const repository = github.repositories.add({
    name,
    collaborators: { alice: 'maintain', bob: 'write', carol: 'triage', dave: 'read' },
    workflows: [options.workflow?.(workflow) ?? workflow, ...(options.called ?? [])],
    ...options.repository,
    files: { [documentPath]: documentOf(options.spec), ...options.files },
  })
  const handle = github.startRun(repository, workflowPath, {
    actor: 'alice',
    event: 'push',
    ...(options.onProcess && { onProcess: options.onProcess }),
  })
  const issues = () => repository.issues.filter(issue => issue.body.includes('<!-- agentctl:pause='))
  const play: Play = {
    repository,
    handle,
    step: job => handle.action(job),
    file: (path, job) => readText(join(handle.job(job).workspace ?? '/nowhere', path)),
    issues,
    issue: (n = 1) => github.until(() => issues()[n - 1]),
    say: (issue, login, words) => void github.comment(issue, github.users.ensure(login), words),
    decide: async (words, issue) => {
      const attempts = handle.run.attempts.length
      play.say(issue ?? (await play.issue()), 'bob', words)
      await github.until(() => handle.run.attempts.length > attempts)
      await handle.completed()
    },
    again: async () => {
      github.runs.rerun(handle.run, github.users.ensure('alice'))
      await handle.completed()
    },
    ask: async (path, { login = 'dave', body } = {}) => {
      const answer = await fetch(`${scene.controlPlane.url}/v1/repos/${name}${path}`, {
        headers: {
          authorization: `Bearer ${github.tokens.userToServer(github.users.ensure(login))}`,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      })
      return { status: answer.status, body: (await answer.json()) as JsonObject }
    },
    events: async (run = play.step().outputs['run-id']) => {
      const token = github.tokens.userToServer(github.users.ensure('dave'))
      const address = `${scene.controlPlane.url}/v1/repos/${name}/audit/export?run=${run}`
      const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } })
      const lines = (await answer.text()).trim().split('\n')
      const verdict = await verifyAudit(lines)
      if (!verdict.ok) throw new Error(`the chain of ${run} does not verify: ${JSON.stringify(verdict)}`)
      const events = lines.map(line => JSON.parse(line) as AuditLine & { chain: string })
      return events.filter(event => event.chain === `run/${run}`)
    },
  }
  return play
}

export const documentOf = (spec: JsonObject): string =>
  JSON.stringify({ apiVersion: 'agentctl.dev/v1', kind: 'Workflow', metadata: { name: 'play' }, spec }, null, 2)

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

/** A change of the workflow: a step of its own before agentctl's, in each attempt. */
export const withStep =
  (run: ScriptStep['run']) =>
  (workflow: Workflow): Workflow => ({
    ...workflow,
    jobs: Object.fromEntries(
      Object.entries(workflow.jobs).map(([key, job]) => [key, { ...job, steps: [{ run }, ...job.steps] }]),
    ),
  })

/** A write that waits for a person. */
export const gatedWrite: JsonObject = {
  policy: { writableRoots: ['out'], approval: 'mutations' },
  outputs: { written: '${{ tasks.gated.output.path }}' },
  actions: { write: { kind: 'builtin.write' } },
  tasks: [{ id: 'gated', uses: 'action:write', with: { path: 'out/approved.txt', content: 'approved by a person' } }],
}

/** Ends of the processes by type: how often each event came. */
export function counted(events: readonly AuditLine[]): { [type: string]: number } {
  const counts: { [type: string]: number } = {}
  for (const { type } of events) counts[type] = (counts[type] ?? 0) + 1
  return counts
}
