import { beforeEach, describe, expect, it } from 'vitest'
import { type Attached, attach } from '../../control-plane/repository/attach.ts'
import { LeaseMarks } from '../../control-plane/repository/marks.ts'
import { ProvedNames } from '../../control-plane/repository/names.ts'
import type { ControlCommand, LeaseCommand } from '../../ledger/commands.ts'
import { LedgerStore, openNodeSql, systemIds } from '../../ledger/index.ts'
import { defaultApprovalSettings } from '../../policy/approval/record.ts'
import { approvalId } from '../../policy/binding.ts'
import { canonical } from '../../policy/canonical.ts'
import { create, effectOf, finishEffect, finishRun, id, move, pauseRun, request, startEffect } from './commands.ts'
import { SetClock } from './settings.ts'

interface Place {
  workflowRunId?: number
  attempt?: number
  job?: string
  step?: string
  document?: string
  workflowRef?: string
  sha?: string
  event?: string
  agentctlRun?: string | null
  settling?: boolean
  asker?: string
}

const ref = 'octo/app/.github/workflows/release.yml@refs/heads/main'
const sha = 'a'.repeat(40)

let clock: SetClock
let store: LedgerStore
let names: ProvedNames
let marks: LeaseMarks

beforeEach(() => {
  clock = new SetClock()
  const sql = openNodeSql(':memory:')
  store = new LedgerStore(sql, { clock, ids: systemIds, ledger: '701' })
  names = new ProvedNames(sql, 701)
  marks = new LeaseMarks(sql)
  names.prove('octo', 'app', clock.now())
})

function attachAt(place: Place = {}, person = { id: 41, login: 'alice' }): Attached {
  const {
    workflowRunId = 9001,
    attempt = 1,
    job = 'gate',
    step = 'agentctl',
    document = '.agentctl/release.yaml',
  } = place
  const { workflowRef = ref, event = 'push', agentctlRun = null } = place
  const claims = {
    jti: id(),
    expires: 0,
    repositoryId: 701,
    owner: 'octo',
    repository: 'app',
    isPublic: false,
    workflowRunId,
    attempt,
    workflowRef,
    ref: 'refs/heads/main',
    sha: place.sha ?? sha,
    event,
    actorId: person.id,
    actor: person.login,
  }
  return attach(
    { store, names, marks },
    {
      claims,
      request: {
        version: 1,
        document,
        step,
        job,
        jobId: 5,
        matrixDigest: '0'.repeat(64),
        commit: { sha: claims.sha, head: claims.sha },
        agentctlRun,
        settings: {},
        settling: place.settling,
        asker: place.asker,
      },
      instance: {
        key: canonical([701, workflowRunId, job, step, document]),
        repositoryId: 701,
        workflowRunId,
        attempt,
        job,
        jobId: attempt * 100,
        step,
        document,
        workflowRef,
        ref: claims.ref,
        sha: claims.sha,
        event,
        actorId: person.id,
        actor: person.login,
        isPublic: false,
        pullRequest: null,
      },
      settings: defaultApprovalSettings,
      requesters: [{ ...person, role: 'actor' }],
    },
  )
}

const send = (at: Attached, attempt: number, ...commands: LeaseCommand[]) =>
  store.apply({ run: at.run, epoch: at.epoch, commands }, `job:9001/${attempt}`)

const hour = () => new Date(clock.now().getTime() + 3_600_000).toISOString()

/** A run of the first attempt, brought as far as named. */
function runThatIs(
  what: 'running' | 'pending' | 'resolved' | 'succeeded' | 'failed' | 'uncertain' | 'denied',
): Attached {
  const at = attachAt()
  send(
    at,
    1,
    create(),
    move('running'),
    request(
      at.run,
      what === 'running' || what === 'succeeded' || what === 'failed' || what === 'uncertain'
        ? 'allow'
        : what === 'denied'
          ? 'deny'
          : 'ask',
    ),
  )
  switch (what) {
    case 'running':
      break
    case 'pending':
    case 'resolved':
      send(at, 1, move('waiting'), pauseRun(at.run, 'pause-1', hour()))
      if (what === 'resolved') approve(at.run)
      break
    case 'succeeded':
      send(at, 1, startEffect(at.run), finishEffect(at.run, 'succeeded'), move('succeeded'), finishRun('succeeded'))
      break
    case 'failed':
      send(at, 1, startEffect(at.run), finishEffect(at.run, 'succeeded'), move('failed'), finishRun('failed'))
      break
    case 'uncertain':
      send(at, 1, startEffect(at.run), finishEffect(at.run, 'uncertain'), move('uncertain'), finishRun('uncertain'))
      break
    case 'denied':
      send(at, 1, move('denied'), finishRun('denied'))
  }
  return at
}

function vote(run: string, word: 'approve' | 'reject', pause = 'pause-1'): void {
  const command: ControlCommand = {
    id: id(),
    type: 'approval.vote',
    pause,
    items: [approvalId(effectOf(run), pause)],
    vote: word,
    person: { id: 42, login: 'bob' },
    reason: 'because',
    via: 'cli',
    comment: null,
    bodyDigest: null,
    needed: 1,
  }
  store.control({ run, commands: [command] }, 'github:42')
}
const approve = (run: string, pause?: string) => vote(run, 'approve', pause)

const refused = (status: number, code: string, message: RegExp) =>
  expect.objectContaining({
    refusal: expect.objectContaining({ status, code, message: expect.stringMatching(message) }),
  })

function refusalOf(place: Place): unknown {
  try {
    return attachAt(place)
  } catch (error) {
    return error
  }
}

describe('the attempt table', () => {
  it('gives the first attempt an unused run and its lease', () => {
    const at = attachAt()
    expect(at).toMatchObject({ outcome: 'new', epoch: 1, parent: null, recorded: null, token: true })
    expect(store.record(at.run)).toBeNull()
    send(at, 1, create())
    expect(store.record(at.run)).toMatchObject({
      state: 'running',
      requesters: [{ id: 41, login: 'alice', role: 'actor' }],
    })
  })

  it('fences the first of two askers whose answer was lost before the run existed', () => {
    const lost = attachAt()
    const at = attachAt()
    expect(at).toMatchObject({ outcome: 'new', run: lost.run, epoch: 2 })
    expect(() => send(lost, 1, create())).toThrow(expect.objectContaining({ code: 'stale_epoch' }))
    send(at, 1, create())
  })

  it('tells a later attempt of a waiting run to wait, with a token only where no issue is registered', () => {
    const { run } = runThatIs('pending')
    expect(attachAt({ attempt: 2 })).toMatchObject({
      outcome: 'pending',
      run,
      token: true,
      recorded: { exitCode: 3, issue: null },
    })
    const issue = {
      issueNumber: 7,
      issueId: 70,
      issueUrl: 'https://github.com/octo/app/issues/7',
      bodyDigest: '0'.repeat(64),
    }
    store.control({ run, commands: [{ id: id(), type: 'pause.register', pause: 'pause-1', ...issue }] }, 'system')
    expect(attachAt({ attempt: 3 })).toMatchObject({
      outcome: 'pending',
      token: false,
      recorded: { state: 'paused', issue: { number: 7, url: issue.issueUrl } },
    })
    expect(store.lease(run)).toBeNull()
  })

  it('makes whoever starts an attempt of a waiting run a requester, for good', () => {
    const { run } = runThatIs('pending')
    attachAt({ attempt: 2 }, { id: 43, login: 'carol' })
    attachAt({ attempt: 3 }, { id: 41, login: 'alice' })
    attachAt({ attempt: 4 }, { id: 43, login: 'carol' })
    expect(store.record(run)?.requesters.map(({ login }) => login)).toEqual(['alice', 'carol'])
  })

  it('resumes a resolved run with a higher epoch, and its redispatch is done', () => {
    const { run } = runThatIs('resolved')
    expect(store.outboxRows({ run }).filter(({ kind }) => kind === 'redispatch')).toMatchObject([{ state: 'due' }])
    const at = attachAt({ attempt: 2 })
    expect(at).toMatchObject({ outcome: 'resume', run, epoch: 2, token: true })
    expect(store.outboxRows({ run }).filter(({ kind }) => kind === 'redispatch')).toMatchObject([{ state: 'done' }])
    expect(store.record(run)?.instance).toMatchObject({ attempt: 2, jobId: 200 })
    send(at, 2, startEffect(run))
  })

  it('replays what succeeded', () => {
    const { run } = runThatIs('succeeded')
    expect(attachAt({ attempt: 2 })).toMatchObject({
      outcome: 'ended',
      run,
      token: false,
      recorded: {
        state: 'succeeded',
        exitCode: 0,
        outputs: { written: 'out/a.txt' },
        message: expect.stringMatching(/nothing was repeated/),
      },
    })
  })

  it('gives a denial and a rejection again, never 0', () => {
    runThatIs('denied')
    expect(attachAt({ attempt: 2 })).toMatchObject({ outcome: 'ended', recorded: { state: 'denied', exitCode: 3 } })
  })

  it('gives a rejection again', () => {
    const { run } = runThatIs('pending')
    vote(run, 'reject')
    const again = attachAt({ attempt: 2 })
    expect(again).toMatchObject({ outcome: 'ended', recorded: { state: 'denied', exitCode: 3 } })
    expect(again.recorded?.message).toMatch(/rejected/)
  })

  it('gives an expiry again', () => {
    const { run } = runThatIs('pending')
    clock.advance(3601)
    store.control({ run, commands: [{ id: id(), type: 'pause.expire', pause: 'pause-1' }] }, 'system')
    const again = attachAt({ attempt: 2 })
    expect(again).toMatchObject({ outcome: 'ended', recorded: { exitCode: 3 } })
    expect(again.recorded?.message).toMatch(/expired/)
  })

  it('gives a cancellation again', () => {
    const { run } = runThatIs('pending')
    const person = { id: 42, login: 'bob' }
    store.control({ run, commands: [{ id: id(), type: 'run.cancel', person, reason: '', via: 'api' }] }, 'github:42')
    expect(attachAt({ attempt: 2 })).toMatchObject({
      outcome: 'ended',
      recorded: { state: 'cancelled', exitCode: 130 },
    })
  })

  it('follows a failed run with a new one that knows what was confirmed, also two failures back', () => {
    const first = runThatIs('failed')
    const second = attachAt({ attempt: 2 })
    expect(second).toMatchObject({
      outcome: 'new',
      parent: {
        run: first.run,
        confirmed: [{ operation: 'builtin.write', task: 'write', effect: effectOf(first.run) }],
      },
    })
    expect(second.run).not.toBe(first.run)
    send(second, 2, create(), move('running'), move('failed'), finishRun('failed'))
    const third = attachAt({ attempt: 3 })
    expect(third.parent).toMatchObject({ run: second.run, confirmed: [{ effect: effectOf(first.run) }] })
    send(third, 3, create())
    expect(store.record(third.run)?.parent).toBe(second.run)
  })

  it('refuses an uncertain run with the command that reconciles it', () => {
    const { run } = runThatIs('uncertain')
    const again = attachAt({ attempt: 2 })
    expect(again).toMatchObject({ outcome: 'uncertain', run, token: false, recorded: { exitCode: 4 } })
    expect(again.recorded?.message).toContain(`agentctl effects reconcile ${effectOf(run)}`)
  })

  it('fences an earlier attempt that holds the lease, at once', () => {
    const first = runThatIs('running')
    const second = attachAt({ attempt: 2 })
    expect(second).toMatchObject({ outcome: 'resume', run: first.run, epoch: 2 })
    expect(() => send(first, 1, startEffect(first.run))).toThrow(expect.objectContaining({ code: 'stale_epoch' }))
  })

  it('refuses the same attempt once more, named, even after the lease ran out', () => {
    runThatIs('running')
    const held = refused(409, 'lease_held', /attempt 1 of workflow run 9001 \(epoch 1\)/)
    expect(refusalOf({ attempt: 1 })).toEqual(held)
    clock.advance(3600)
    expect(refusalOf({ attempt: 1 })).toEqual(held)
  })

  it('gives an attempt whose answer was lost the lease once more, as long as it has written nothing', () => {
    const { run } = runThatIs('resolved')
    const lost = attachAt({ attempt: 2 })
    const at = attachAt({ attempt: 2 })
    expect(at).toMatchObject({ outcome: 'resume', run, epoch: lost.epoch + 1 })
    expect(() => send(lost, 2, startEffect(run))).toThrow(expect.objectContaining({ code: 'stale_epoch' }))
    send(at, 2, startEffect(run))
    expect(refusalOf({ attempt: 2 })).toEqual(refused(409, 'lease_held', /attempt 2 of workflow run 9001/))
  })

  it('refuses an attempt earlier than the recorded one', () => {
    runThatIs('resolved')
    attachAt({ attempt: 3 })
    expect(refusalOf({ attempt: 2 })).toEqual(refused(409, 'lease_held', /has gone on in attempt 3/))
  })

  const strangers: [what: string, place: Place, status: number, code: string][] = [
    [
      'another workflow file',
      { workflowRef: 'octo/app/.github/workflows/evil.yml@refs/heads/main' },
      403,
      'workflow_mismatch',
    ],
    [
      'another branch',
      { workflowRef: 'octo/app/.github/workflows/release.yml@refs/heads/x' },
      403,
      'workflow_mismatch',
    ],
    [
      'the same file of another repository',
      { workflowRef: 'evil/app/.github/workflows/release.yml@refs/heads/main' },
      403,
      'workflow_mismatch',
    ],
    ['another commit', { sha: 'b'.repeat(40) }, 403, 'commit_mismatch'],
  ]
  it.each(strangers)('refuses %s', (_what, place, status, code) => {
    runThatIs('resolved')
    expect(refusalOf({ attempt: 2, ...place })).toEqual(refused(status, code, /./))
  })

  it('knows the workflow of a renamed repository', () => {
    const { run } = runThatIs('resolved')
    names.prove('octo', 'renamed', clock.now())
    const workflowRef = 'octo/renamed/.github/workflows/release.yml@refs/heads/main'
    expect(attachAt({ attempt: 2, workflowRef })).toMatchObject({ outcome: 'resume', run })
  })

  it('tells jobs, steps, documents and workflow runs apart', () => {
    const { run } = runThatIs('pending')
    const others = [
      { job: 'gate (linux)' },
      { step: 'agentctl_2' },
      { document: 'other.yaml' },
      { workflowRunId: 9002 },
    ]
    const runs = others.map(place => attachAt(place))
    expect(runs.map(({ outcome }) => outcome)).toEqual(['new', 'new', 'new', 'new'])
    expect(new Set([run, ...runs.map(at => at.run)]).size).toBe(5)
  })
})

describe('a dispatched workflow run', () => {
  const dispatchedTo = (run: string, workflowRunId: number) => {
    const [row] = store.outboxRows({ run }).filter(({ kind }) => kind === 'redispatch')
    store.deferOutbox(row?.id ?? '', hour(), { started: { by: 'workflow_dispatch' }, dispatchedRun: workflowRunId })
  }
  const dispatch = (run: string, place: Place = {}): Place => ({
    workflowRunId: 9777,
    event: 'workflow_dispatch',
    agentctlRun: run,
    ...place,
  })

  it('takes the lease of the run that our dispatch named', () => {
    const { run } = runThatIs('resolved')
    dispatchedTo(run, 9777)
    expect(attachAt(dispatch(run))).toMatchObject({ outcome: 'resume', run, epoch: 2 })
    expect(store.record(run)?.instance).toMatchObject({ workflowRunId: 9777, attempt: 1 })
  })

  it('may be re-run, and pause and be dispatched again', () => {
    const { run } = runThatIs('resolved')
    dispatchedTo(run, 9777)
    attachAt(dispatch(run))
    const second = attachAt(dispatch(run, { attempt: 2 }))
    expect(second).toMatchObject({ outcome: 'resume', epoch: 3 })
  })

  it('takes the run away from its first workflow run', () => {
    const { run } = runThatIs('resolved')
    dispatchedTo(run, 9777)
    attachAt(dispatch(run))
    expect(refusalOf({ attempt: 2 })).toEqual(
      refused(409, 'lease_held', /has gone on in attempt 1 of workflow run 9777/),
    )
  })

  it('is refused where we dispatched nothing, another run, or where a push carries the input', () => {
    const { run } = runThatIs('resolved')
    const no = refused(403, 'not_our_dispatch', /leave the input agentctl-run empty/)
    expect(refusalOf(dispatch(run))).toEqual(no)
    dispatchedTo(run, 9777)
    expect(refusalOf(dispatch(run, { workflowRunId: 9778 }))).toEqual(no)
    expect(refusalOf(dispatch('unknown'))).toEqual(no)
    expect(refusalOf(dispatch(run, { event: 'push' }))).toEqual(no)
  })

  it('is asked to try again while GitHub has not yet answered our dispatch', () => {
    const { run } = runThatIs('resolved')
    const [row] = store.outboxRows({ run }).filter(({ kind }) => kind === 'redispatch')
    store.deferOutbox(row?.id ?? '', hour(), { started: { by: 'workflow_dispatch', workflowRun: null } })
    expect(refusalOf(dispatch(run))).toEqual(refused(503, 'dispatch_unconfirmed', /try again/))
  })

  it('gives its other jobs runs of their own', () => {
    const { run } = runThatIs('resolved')
    dispatchedTo(run, 9777)
    const other = attachAt(dispatch(run, { job: 'deploy' }))
    expect(other).toMatchObject({ outcome: 'new' })
    expect(other.run).not.toBe(run)
  })
})

describe('the post step of an attempt', () => {
  const post = (place: Place = {}) => attachAt({ asker: 'main', ...place, settling: true })
  const refusedPost = (place: Place = {}) => refusalOf({ asker: 'main', ...place, settling: true })

  it('begins no run', () => {
    expect(refusedPost()).toEqual(refused(422, 'nothing_to_settle', /its main began none/))
    attachAt()
    expect(refusedPost()).toEqual(refused(422, 'nothing_to_settle', /its main began none/))
    expect(store.runs().items).toEqual([])
  })

  it('takes the lease from its own main, which is fenced', () => {
    const main = runThatIs('running')
    const at = post()
    expect(at).toMatchObject({ outcome: 'resume', run: main.run, epoch: 2, token: true })
    expect(() => send(main, 1, startEffect(main.run))).toThrow(expect.objectContaining({ code: 'stale_epoch' }))
    expect(post()).toMatchObject({ outcome: 'resume', epoch: 3 })
  })

  it('never takes it from a later attempt, another workflow run or another commit', () => {
    runThatIs('running')
    attachAt({ attempt: 2 })
    expect(refusedPost()).toEqual(refused(409, 'lease_held', /gone on in attempt 2/))
    expect(refusedPost({ attempt: 2, sha: 'b'.repeat(40) })).toEqual(refused(403, 'commit_mismatch', /start a new run/))
    expect(refusedPost({ workflowRunId: 9002 })).toEqual(refused(422, 'nothing_to_settle', /./))
  })

  it('settles nothing of another step of the same place, and nothing without saying whose it is', () => {
    const main = attachAt({ asker: 'main' })
    send(main, 1, create(), move('running'), request(main.run, 'allow'))
    const other = refused(422, 'nothing_to_settle', /is of another step/)
    expect(refusedPost({ asker: 'second' })).toEqual(other)
    expect(refusalOf({ settling: true })).toEqual(other)
    send(main, 1, startEffect(main.run))
    expect(post()).toMatchObject({ outcome: 'resume', run: main.run, epoch: 2 })
  })

  it('leaves what it settles to the next attempt', () => {
    const { run } = runThatIs('running')
    const at = post()
    send(at, 1, { id: id(), type: 'lease.release' })
    expect(store.lease(run)).toBeNull()
    expect(attachAt({ attempt: 2 })).toMatchObject({ outcome: 'resume', run, epoch: 3 })
  })

  it('gets a token for a pause without its issue, and leaves a decided one to its resume', () => {
    const { run } = runThatIs('pending')
    expect(post()).toMatchObject({ outcome: 'pending', run, token: true, recorded: { issue: null } })
    approve(run)
    expect(post()).toMatchObject({ outcome: 'ended', run, token: false, recorded: { state: 'paused' } })
    expect(store.outboxRows({ run }).filter(({ kind }) => kind === 'redispatch')).toMatchObject([{ state: 'due' }])
  })

  it.each(['succeeded', 'failed', 'denied', 'uncertain'] as const)('is told what is recorded of a %s run', state => {
    const { run } = runThatIs(state)
    expect(post()).toMatchObject({ run, token: false, recorded: { state } })
    expect(store.byInstance(store.record(run)?.instance?.key ?? '')?.run).toBe(run)
  })
})
