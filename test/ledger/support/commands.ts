import type { CommandOf, ControlCommand, Instance, LeaseCommand } from '../../../ledger/commands.ts'
import type { LeaseHolder, LedgerStore } from '../../../ledger/index.ts'
import type { Receipt } from '../../../ledger/port.ts'
import { type ApprovalSettings, defaultApprovalSettings, type Person } from '../../../policy/approval/record.ts'
import { approvalId, bindingDigest, effectId } from '../../../policy/binding.ts'
import { sha256 } from '../../../policy/canonical.ts'
import type { Json, JsonObject } from '../../../policy/json.ts'

type Loose<Type extends LeaseCommand['type'] | ControlCommand['type']> = Partial<Omit<CommandOf<Type>, 'type'>>

let count = 0
/** A fresh command id. */
export function commandId(): string {
  count += 1
  return `command-${count}`
}

export const holder: LeaseHolder = { kind: 'local', bootId: 'boot', pid: 1, startTime: '1' }
export const actor = 'local:1000'
export const alice: Person = { id: 11, login: 'alice' }
export const bob: Person = { id: 12, login: 'bob' }
export const carol: Person = { id: 13, login: 'carol' }

export function instanceOf(key = 'instance-1', more: Partial<Instance> = {}): Instance {
  return {
    key,
    repositoryId: 42,
    workflowRunId: 7001,
    attempt: 1,
    job: 'release',
    jobId: 9001,
    step: 'agentctl',
    document: '.agentctl/release.yaml',
    workflowRef: 'org/app/.github/workflows/release.yaml@refs/heads/main',
    ref: 'refs/heads/main',
    sha: 'a'.repeat(40),
    event: 'push',
    actorId: 21,
    actor: 'octo',
    isPublic: false,
    pullRequest: null,
    ...more,
  }
}

export interface TaskShape {
  id: string
  needs?: string[]
  failure?: 'stop' | 'continue'
}

export function create(tasks: TaskShape[], more: Loose<'run.create'> = {}): CommandOf<'run.create'> {
  return {
    id: commandId(),
    type: 'run.create',
    workflowName: 'release',
    document: '.agentctl/release.yaml',
    workflowDigest: sha256('workflow'),
    planDigest: sha256('plan'),
    floorDigest: null,
    plan: { inline: { order: tasks.map(task => task.id) } },
    commit: { sha: 'a'.repeat(40), head: 'a'.repeat(40) },
    parent: null,
    tasks: tasks.map(({ id, needs = [], failure = 'stop' }) => ({ id, needs, failure })),
    memory: {},
    settings: defaultApprovalSettings,
    resumeWith: 'rerun',
    ...more,
  }
}

export function move(
  task: string,
  to: CommandOf<'task.move'>['to'],
  more: Loose<'task.move'> = {},
): CommandOf<'task.move'> {
  const rest = { attempt: 1, output: null, error: null, condition: null, memory: null }
  return { id: commandId(), type: 'task.move', task, to, ...rest, ...more }
}

export function pure(run: string, task: string, more: Loose<'effect.pure'> = {}): CommandOf<'effect.pure'> {
  const of = { task, attempt: 1, ordinal: 0, operation: 'builtin.assign', inputDigest: sha256(`input of ${task}`) }
  const place = { ...of, ...more }
  return {
    id: commandId(),
    type: 'effect.pure',
    effect: effectId({ run, ...place }),
    to: 'succeeded',
    error: null,
    ...place,
  }
}

/** Id of the one effect that these helpers give a task. */
export function effectOf(run: string, task: string, attempt = 1): string {
  const inputDigest = sha256(`input of ${task}`)
  return effectId({ run, task, attempt, ordinal: 0, operation: 'builtin.write', inputDigest })
}

export function bindingOf(version = 'one'): JsonObject {
  return { replaced_file: sha256(version) }
}

export function request(
  run: string,
  task: string,
  outcome: 'allow' | 'ask' | 'deny',
  more: { binding?: JsonObject; attempt?: number; changed?: string[]; input?: Json } = {},
): CommandOf<'effect.request'> {
  const { binding = bindingOf(), attempt = 1, changed = [], input = { path: `${task}.txt`, content: task } } = more
  return {
    id: commandId(),
    type: 'effect.request',
    effect: effectOf(run, task, attempt),
    task,
    attempt,
    ordinal: 0,
    agent: null,
    operation: 'builtin.write',
    tool: 'filesystem.write',
    capability: '',
    effectClass: 'workspace_mutate',
    risk: 'medium',
    idempotency: 'idempotent',
    isolation: 'process',
    input: { inline: input },
    inputDigest: sha256(`input of ${task}`),
    binding,
    bindingDigest: bindingDigest(binding),
    decision: {
      outcome,
      reason: outcome === 'allow' ? '' : 'approval: mutations',
      steps: [{ step: 'approval', outcome }],
    },
    changed,
  }
}

export function start(run: string, task: string, version = 'one', attempt = 1): CommandOf<'effect.start'> {
  const digest = bindingDigest(bindingOf(version))
  return { id: commandId(), type: 'effect.start', effect: effectOf(run, task, attempt), bindingDigest: digest }
}

export function finish(
  run: string,
  task: string,
  to: CommandOf<'effect.finish'>['to'] = 'succeeded',
  more: Loose<'effect.finish'> = {},
): CommandOf<'effect.finish'> {
  const rest = { result: { inline: { changed: true } }, error: null, artifacts: [] }
  return { id: commandId(), type: 'effect.finish', effect: effectOf(run, task), to, ...rest, ...more }
}

export function pauseFor(run: string, pause: string, tasks: string[], expiresAt: string): CommandOf<'run.pause'> {
  return {
    id: commandId(),
    type: 'run.pause',
    pause,
    items: tasks.map(task => ({
      effect: effectOf(run, task),
      bindingDigest: bindingDigest(bindingOf()),
      reason: 'approval: mutations',
      expected: { inline: { kind: 'other', summary: `write ${task}`, detail: null } },
    })),
    later: [],
    expiresAt,
  }
}

export function end(to: CommandOf<'run.finish'>['to'], outputs: Json = null): CommandOf<'run.finish'> {
  return { id: commandId(), type: 'run.finish', to, outputs: outputs === null ? null : { inline: outputs } }
}

export function vote(
  run: string,
  pause: string,
  tasks: string[],
  word: 'approve' | 'reject',
  person: Person,
  more: Loose<'approval.vote'> = {},
): CommandOf<'approval.vote'> {
  const items = tasks.map(task => approvalId(effectOf(run, task), pause))
  const rest = { reason: '', via: 'cli', comment: null, bodyDigest: null, needed: 1 } as const
  return { id: commandId(), type: 'approval.vote', pause, items, vote: word, person, ...rest, ...more }
}

export function reconcile(
  run: string,
  task: string,
  status: CommandOf<'effect.reconcile'>['status'],
  more: Loose<'effect.reconcile'> = {},
): CommandOf<'effect.reconcile'> {
  const rest = {
    reason: 'looked at it',
    evidence: { inline: 'a log' },
    result: null,
    person: { id: null, login: actor },
  }
  return { id: commandId(), type: 'effect.reconcile', effect: effectOf(run, task), status, ...rest, ...more }
}

/** A run with its instance, as a control plane creates it. */
export function begin(
  store: LedgerStore,
  tasks: TaskShape[],
  more: {
    settings?: Partial<ApprovalSettings>
    instance?: Instance
    requesters?: { id: number; login: string; role: string }[]
  } = {},
): string {
  const { run, epoch } = store.reserve({
    instance: more.instance ?? instanceOf(),
    settings: { ...defaultApprovalSettings, ...more.settings },
    requesters: more.requesters ?? [],
    parent: null,
  })
  store.apply({ run, epoch, commands: [create(tasks)] }, 'job:7001/1')
  return run
}

/** A run that waits for people: each of the named tasks asked. */
export function beginPaused(
  store: LedgerStore,
  tasks: TaskShape[],
  asking: string[],
  expiresAt: string,
  more: Parameters<typeof begin>[2] = {},
): { run: string; pause: string } {
  const run = begin(store, tasks, more)
  const pause = `pause-of-${run.slice(-6)}`
  const requests = asking.flatMap(task => [request(run, task, 'ask'), move(task, 'waiting')])
  applyAs(store, run, 1, [...requests, pauseFor(run, pause, asking, expiresAt)])
  return { run, pause }
}

export function applyAs(store: LedgerStore, run: string, epoch: number, commands: LeaseCommand[]): Receipt {
  return store.apply({ run, epoch, commands }, 'job:7001/1', holder)
}

export function control(store: LedgerStore, run: string, ...commands: ControlCommand[]): Receipt {
  return store.control({ run, commands }, 'github:11')
}
