import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { type EmbeddedLedger, openEmbedded, systemClock, systemIds } from '../../ledger/index.ts'
import type { Ledger, PauseRecord } from '../../ledger/port.ts'
import { defaultApprovalSettings } from '../../policy/approval/record.ts'
import { compile, type Plan, parseDocument, workflowDigest } from '../../policy/document/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import * as jsonSchemas from '../../policy/json-schema/index.ts'
import {
  type NewRun,
  type ProgressEvent,
  predictRun,
  type ResumedRun,
  type RunnerPorts,
  type RunOutcome,
  resumeRun,
  startRun,
} from '../../runner/index.ts'

/**
 * Not below /tmp, where the checkout itself may lie: programs there are never trusted, and some tests have programs of
 * their own. The account's home as the system knows it, since nobody else may write there.
 */
const base = path.join(userInfo().homedir, '.cache/agentctl-runner-tests')

export interface Scene {
  directory: string
  /** The current workspace; `freshWorkspace` replaces it. */
  workspace: string
  ledger: EmbeddedLedger
  events: ProgressEvent[]
  dispose(): void
}

/** A directory with a workspace and a real ledger file. */
export function createScene(files: { [path: string]: string } = {}): Scene {
  mkdirSync(base, { recursive: true })
  const directory = mkdtempSync(path.join(base, 'scene-'))
  const scene: Scene = {
    directory,
    workspace: '',
    ledger: openEmbedded({ file: path.join(directory, 'ledger.db'), clock: systemClock, ids: systemIds }),
    events: [],
    dispose() {
      void scene.ledger.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
  freshWorkspace(scene, files)
  return scene
}

/** A new checkout: another directory with the given files. */
export function freshWorkspace(scene: Scene, files: { [path: string]: string } = {}): void {
  scene.workspace = mkdtempSync(path.join(scene.directory, 'workspace '))
  for (const [name, content] of Object.entries(files)) putFile(scene, name, content)
}

export function putFile(scene: Scene, name: string, content: string, mode = 0o644): string {
  const place = path.join(scene.workspace, name)
  mkdirSync(path.dirname(place), { recursive: true })
  writeFileSync(place, content, { mode })
  return place
}

/** Content of a workspace file, null where there is none. */
export function getFile(scene: Scene, name: string): string | null {
  const place = path.join(scene.workspace, name)
  return existsSync(place) ? readFileSync(place, 'utf8') : null
}

/** The plan of a document's `spec`, written as JSON, which is YAML. */
export function planOf(spec: object, inputs: JsonObject = {}): Plan {
  const text = JSON.stringify({
    apiVersion: 'agentctl.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'test' },
    spec,
  })
  const { document, diagnostics } = parseDocument({ text, file: 'test.yaml' })
  if (document === null) throw new Error(JSON.stringify(diagnostics))
  const compiled = compile({ document, inputs, files: {}, floor: null, jsonSchemas })
  if (compiled.plan === null) throw new Error(JSON.stringify(compiled.diagnostics, null, 2))
  if (workflowDigest(document, {}) !== compiled.plan.workflowDigest) throw new Error('digests differ')
  return compiled.plan
}

export function portsOf(scene: Scene, changes: Partial<RunnerPorts> = {}): RunnerPorts {
  return {
    ledger: scene.ledger,
    clock: systemClock,
    ids: systemIds,
    workspace: scene.workspace,
    environment: {},
    protectedPaths: [],
    temporaryDirectories: [],
    searchPath: [],
    signal: new AbortController().signal,
    report: event => scene.events.push(event),
    ...changes,
  }
}

export interface RunOptions {
  ports?: Partial<RunnerPorts>
  run?: Partial<NewRun>
  ledger?: Ledger
}

/** Starts a run of a plan in the scene's workspace. */
export function start(scene: Scene, plan: Plan, options: RunOptions = {}): Promise<RunOutcome> {
  const ports = portsOf(scene, options.ports)
  return startRun(ports, {
    run: systemIds.uuid(),
    epoch: 1,
    plan,
    document: 'test.yaml',
    commit: { sha: null, head: null },
    settings: defaultApprovalSettings,
    resumeWith: 'rerun',
    parent: null,
    ...options.run,
  })
}

/** Resumes as a face does: acquires the lease where there is one to take. */
export async function resume(
  scene: Scene,
  run: string,
  options: { ports?: Partial<RunnerPorts>; run?: Partial<ResumedRun> } = {},
): Promise<RunOutcome> {
  const epoch = await scene.ledger.acquire(run)
  return resumeRun(portsOf(scene, options.ports), {
    run,
    epoch,
    commit: { sha: null, head: null },
    workflowDigest: null,
    ...options.run,
  })
}

/** A local person's word on every open item, or on some by task. */
export function vote(scene: Scene, outcome: RunOutcome, word: 'approve' | 'reject', tasks?: string[]): void {
  if (outcome.pause === null) throw new Error(`no pause: ${JSON.stringify(outcome)}`)
  voteOnPause(scene, outcome.run, outcome.pause, word, tasks)
}

export function voteOnPause(
  scene: Scene,
  run: string,
  pause: PauseRecord,
  word: 'approve' | 'reject',
  tasks?: string[],
): void {
  const items = pause.items.filter(item => tasks?.includes(item.task) ?? true)
  scene.ledger.store.control(
    {
      run,
      commands: [
        {
          id: systemIds.uuid(),
          type: 'approval.vote',
          pause: pause.pause,
          items: items.map(({ id }) => id),
          vote: word,
          person: { id: null, login: 'local:0' },
          reason: 'test',
          via: 'cli',
          comment: null,
          bodyDigest: null,
          needed: 1,
        },
      ],
    },
    'local:0',
  )
}

export function predict(scene: Scene, plan: Plan, ports: Partial<RunnerPorts> = {}) {
  return predictRun(portsOf(scene, ports), plan)
}

/** States of all tasks by id. */
export function statesOf(scene: Scene, run: string): { [task: string]: string } {
  const snapshot = scene.ledger.store.snapshot(run)
  return Object.fromEntries((snapshot?.tasks ?? []).map(({ task, state }) => [task, state]))
}

export const write = { kind: 'builtin.write' }
/** A document's parts for writes under `out` that need nobody. */
export const freely = { writableRoots: ['out'], approval: 'never' }
