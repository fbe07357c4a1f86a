import { describe, expect, it } from 'vitest'
import type { LedgerStore } from '../../../ledger/index.ts'
import { approvalId } from '../../../policy/binding.ts'
import { sha256 } from '../../../policy/canonical.ts'
import {
  alice,
  applyAs,
  begin,
  beginPaused,
  bindingOf,
  bob,
  carol,
  commandId,
  control,
  effectOf,
  end,
  finish,
  holder,
  instanceOf,
  move,
  pauseFor,
  request,
  start,
  vote,
} from '../support/commands.ts'
import type { Engine } from '../support/engine.ts'
import { openStore, refusal } from './lifecycle.ts'

const week = 7 * 86_400

/** What became of a run, in one line each. */
function standing(store: LedgerStore, run: string) {
  const snapshot = store.snapshot(run)
  return {
    run: snapshot?.record.state,
    tasks: snapshot?.tasks.map(task => task.state).join(' '),
    effects: snapshot?.effects.map(effect => effect.denial ?? effect.state).join(' '),
    items: snapshot?.pauses.flatMap(pause => pause.items.map(item => item.resolution?.outcome ?? 'open')).join(' '),
    outbox: store
      .outboxRows({ run })
      .map(row => row.kind)
      .join(' '),
    open: store.openPauses().length,
  }
}

export function approvalSuite(engine: Engine): void {
  describe(`approvals on ${engine.name}`, () => {
    it('pauses: the lease goes back, the record says all that a person needs', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const expiresAt = clock.in(week)
        const { run, pause } = beginPaused(store, [{ id: 'a' }, { id: 'b' }], ['a'], expiresAt)
        expect(store.lease(run)).toBeNull()
        expect(store.record(run)).toMatchObject({ state: 'paused', pause })
        const approval = store.approval(approvalId(effectOf(run, 'a'), pause))
        expect(approval).toMatchObject({
          number: 1,
          trace: `${run}/a/1/0`,
          tool: 'filesystem.write',
          effectClass: 'workspace_mutate',
          input: { path: 'a.txt', content: 'a' },
          expectedEffect: { kind: 'other', summary: 'write a' },
          reason: 'approval: mutations',
          decisionTrace: [{ step: 'approval', outcome: 'ask' }],
          planDigest: sha256('plan'),
          expiresAt,
          needed: 1,
          resolution: null,
        })
        expect(store.openPauses().map(open => open.pause)).toEqual([pause])
        expect(store.nextDue()).toBe(expiresAt)
        expect(refusal(() => applyAs(store, run, 1, [move('b', 'running')]))).toBe('stale_epoch')
      }))

    it('approves, dispatches once, and lets the effect start once', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const { run, pause } = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(week))
        clock.advance(60)
        control(store, run, vote(run, pause, ['a'], 'approve', alice, { reason: 'fine' }))
        expect(standing(store, run)).toEqual({
          run: 'paused',
          tasks: 'waiting',
          effects: 'requested',
          items: 'approved',
          outbox: 'redispatch',
          open: 0,
        })
        expect(store.pause(pause)?.items[0]?.resolution).toEqual({
          outcome: 'approved',
          by: [alice],
          reason: 'fine',
          via: 'cli',
          at: '2026-03-01T10:01:00.000Z',
        })
        expect(store.acquire(run, holder, 'job:7001/2')).toEqual({ epoch: 2, taken: true })
        expect(store.outboxRows({ run }).map(row => row.state)).toEqual(['done'])
        expect(store.record(run)).toMatchObject({ state: 'running', pause: null, epoch: 2 })
        applyAs(store, run, 2, [request(run, 'a', 'ask'), move('a', 'running'), start(run, 'a')])
        expect(refusal(() => applyAs(store, run, 2, [start(run, 'a')]))).toBe('conflict')
        applyAs(store, run, 2, [finish(run, 'a'), move('a', 'succeeded'), end('succeeded')])
        expect(standing(store, run)).toMatchObject({ run: 'succeeded', outbox: 'run-ended redispatch' })
      }))

    it('voids an approval by name when its binding changes, and waits again', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const { run, pause } = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(week))
        control(store, run, vote(run, pause, ['a'], 'approve', alice))
        store.acquire(run, holder, 'job:7001/2')
        const changed = ['replaced_file_changed']
        applyAs(store, run, 2, [request(run, 'a', 'ask', { binding: bindingOf('two'), changed })])
        expect(store.effects(run)[0]).toMatchObject({ state: 'waiting_for_approval', approval: null })
        const voided = store.events({ chain: `run/${run}` }).items.find(event => event.type === 'approval.voided')
        expect(voided?.data).toMatchObject({ approval: approvalId(effectOf(run, 'a'), pause), changed })
        expect(refusal(() => applyAs(store, run, 2, [start(run, 'a', 'two')]))).toBe('conflict')
        expect(refusal(() => applyAs(store, run, 2, [start(run, 'a')]))).toBe('conflict')
        // Going back to the old binding does not bring the approval back.
        applyAs(store, run, 2, [request(run, 'a', 'ask', { changed })])
        expect(refusal(() => applyAs(store, run, 2, [start(run, 'a')]))).toBe('conflict')
      }))

    it('looks at the approval itself before a start, not only at the effect', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const { run, pause } = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(week))
        control(store, run, vote(run, pause, ['a'], 'approve', alice))
        store.acquire(run, holder, 'job:7001/2')
        // Behind the ledger's back, as damage or another writer would.
        disk.open().run('UPDATE effects SET approval = NULL')
        const { store: again } = openStore(disk)
        expect(refusal(() => applyAs(again, run, 2, [start(run, 'a')]))).toBe('conflict')
      }))

    it('leaves what is resolved as it is when a later decision names it too', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const tasks = [{ id: 'a' }, { id: 'b', failure: 'continue' } as const]
        const { run, pause } = beginPaused(store, tasks, ['a', 'b'], clock.in(week))
        control(store, run, vote(run, pause, ['a'], 'approve', alice))
        control(store, run, vote(run, pause, ['a', 'b'], 'reject', bob))
        expect(standing(store, run)).toMatchObject({ items: 'approved rejected', outbox: 'redispatch' })
        expect(refusal(() => control(store, run, vote(run, pause, ['a', 'b'], 'approve', bob)))).toBe('conflict')
      }))

    it('does not touch a dependent that has come to its end', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const run = begin(store, [{ id: 'a', failure: 'continue' }, { id: 'b', needs: ['a'] }, { id: 'c' }])
        const asks = [request(run, 'a', 'ask'), move('a', 'waiting'), move('b', 'skipped')]
        applyAs(store, run, 1, [...asks, pauseFor(run, 'p', ['a'], clock.in(week))])
        control(store, run, vote(run, 'p', ['a'], 'reject', alice))
        expect(standing(store, run)).toMatchObject({ tasks: 'denied skipped pending', outbox: 'redispatch' })
      }))

    const stop = { id: 'a' }
    const go = { id: 'a', failure: 'continue' } as const
    const outcomes: {
      name: string
      tasks: Parameters<typeof beginPaused>[1]
      asking: string[]
      act: (store: LedgerStore, run: string, pause: string) => void
      becomes: Partial<ReturnType<typeof standing>>
    }[] = [
      {
        name: 'a rejection whose task stops the run ends it',
        tasks: [stop, { id: 'b' }, { id: 'c' }],
        asking: ['a', 'b'],
        act: (store, run, pause) => control(store, run, vote(run, pause, ['a'], 'reject', alice)),
        becomes: {
          run: 'denied',
          tasks: 'denied cancelled cancelled',
          effects: 'rejected cancelled',
          items: 'rejected cancelled',
          outbox: 'run-ended',
          open: 0,
        },
      },
      {
        name: 'a rejection that stops also ends what was approved before it',
        tasks: [stop, { id: 'b' }],
        asking: ['a', 'b'],
        act: (store, run, pause) => {
          control(store, run, vote(run, pause, ['b'], 'approve', alice))
          control(store, run, vote(run, pause, ['a'], 'reject', bob))
        },
        becomes: { run: 'denied', effects: 'rejected cancelled', items: 'rejected approved', outbox: 'run-ended' },
      },
      {
        name: 'a rejection with failure continue leaves the other item open',
        tasks: [go, { id: 'b' }],
        asking: ['a', 'b'],
        act: (store, run, pause) => control(store, run, vote(run, pause, ['a'], 'reject', alice)),
        becomes: { run: 'paused', tasks: 'denied waiting', items: 'rejected open', outbox: '', open: 1 },
      },
      {
        name: 'a rejection with failure continue cancels what depends on it and goes on with the rest',
        tasks: [go, { id: 'b', needs: ['a'] }, { id: 'c', needs: ['b'] }, { id: 'd' }],
        asking: ['a', 'b'],
        act: (store, run, pause) => control(store, run, vote(run, pause, ['a'], 'reject', alice)),
        becomes: {
          run: 'paused',
          tasks: 'denied cancelled cancelled pending',
          effects: 'rejected cancelled',
          items: 'rejected cancelled',
          outbox: 'redispatch',
        },
      },
      {
        name: 'a rejection with failure continue and nothing left ends the run',
        tasks: [go, { id: 'b', needs: ['a'] }],
        asking: ['a'],
        act: (store, run, pause) => control(store, run, vote(run, pause, ['a'], 'reject', alice)),
        becomes: { run: 'denied', tasks: 'denied cancelled', outbox: 'run-ended' },
      },
      {
        name: 'a cancel ends a paused run',
        tasks: [stop, { id: 'b' }],
        asking: ['a'],
        act: (store, run) =>
          control(store, run, { id: commandId(), type: 'run.cancel', person: bob, reason: 'no', via: 'api' }),
        becomes: { run: 'cancelled', tasks: 'cancelled cancelled', items: 'cancelled', outbox: 'run-ended', open: 0 },
      },
      {
        name: 'a cancel also ends a run that waits for its dispatch',
        tasks: [stop],
        asking: ['a'],
        act: (store, run, pause) => {
          control(store, run, vote(run, pause, ['a'], 'approve', alice))
          control(store, run, { id: commandId(), type: 'run.cancel', person: bob, reason: 'no', via: 'page' })
        },
        becomes: { run: 'cancelled', effects: 'cancelled', items: 'approved' },
      },
    ]
    it.each(outcomes)('$name', ({ tasks, asking, act, becomes }) =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const { run, pause } = beginPaused(store, tasks, asking, clock.in(week))
        act(store, run, pause)
        expect(standing(store, run)).toMatchObject(becomes)
      }),
    )

    it('expires what nobody answered, never before its time, as expired', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const { run, pause } = beginPaused(store, [{ id: 'a' }, { id: 'b' }], ['a', 'b'], clock.in(week))
        const expire = () => control(store, run, { id: commandId(), type: 'pause.expire', pause })
        control(store, run, vote(run, pause, ['b'], 'approve', alice))
        expect(refusal(expire)).toBe('conflict')
        clock.advance(week)
        expect(refusal(() => control(store, run, vote(run, pause, ['a'], 'approve', alice)))).toBe('conflict')
        expire()
        const after = standing(store, run)
        expect(after).toMatchObject({ run: 'denied', effects: 'expired cancelled', items: 'expired approved', open: 0 })
        expire()
        expect(standing(store, run)).toEqual(after)
      }))

    it('counts people, not votes', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const settings = { minimumApprovals: 2 }
        const { run, pause } = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(week), { settings })
        control(store, run, vote(run, pause, ['a'], 'approve', alice, { needed: 2 }))
        control(store, run, vote(run, pause, ['a'], 'approve', { ...alice, login: 'Alice' }, { needed: 2 }))
        expect(standing(store, run).items).toBe('open')
        expect(store.votes(pause).map(entry => [entry.vote, entry.person.id])).toEqual([['approve', 11]])
        control(store, run, vote(run, pause, ['a'], 'approve', bob, { needed: 2 }))
        expect(store.pause(pause)?.items[0]?.resolution).toMatchObject({ outcome: 'approved', by: [{ id: 11 }, bob] })
      }))

    it('takes the stricter count of creation and decision, and keeps it', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const { run, pause } = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(week))
        control(store, run, vote(run, pause, ['a'], 'approve', alice, { needed: 3 }))
        control(store, run, vote(run, pause, ['a'], 'approve', bob, { needed: 1 }))
        expect(store.pause(pause)?.items[0]).toMatchObject({ needed: 3, resolution: null })
        control(store, run, vote(run, pause, ['a'], 'approve', carol, { needed: 1 }))
        expect(standing(store, run).items).toBe('approved')
      }))

    it('a later rejection of an approver is final', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const { run, pause } = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(week), {
          settings: { minimumApprovals: 2 },
        })
        control(store, run, vote(run, pause, ['a'], 'approve', alice, { needed: 2 }))
        control(store, run, vote(run, pause, ['a'], 'reject', alice, { needed: 2 }))
        expect(standing(store, run)).toMatchObject({ items: 'rejected', run: 'denied' })
        expect(store.votes(pause).map(entry => entry.vote)).toEqual(['reject'])
        expect(refusal(() => control(store, run, vote(run, pause, ['a'], 'approve', bob)))).toBe('conflict')
      }))

    it('counts a comment once, under whatever command', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const { run, pause } = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(week), {
          settings: { minimumApprovals: 2 },
        })
        register(store, run, pause, 5)
        const comment = { via: 'comment', comment: 900, bodyDigest: sha256('body 5'), needed: 2 } as const
        control(store, run, vote(run, pause, ['a'], 'approve', alice, comment))
        const head = store.head(`run/${run}`)
        control(store, run, vote(run, pause, ['a'], 'reject', bob, comment))
        expect(store.head(`run/${run}`)).toBe(head)
        expect(standing(store, run).items).toBe('open')
      }))

    it('decides only on the registered body', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const { run, pause } = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(week))
        const on = (bodyDigest: string | null, via: 'comment' | 'api' | 'cli') => () =>
          control(store, run, vote(run, pause, ['a'], 'approve', alice, { via, bodyDigest }))
        expect(refusal(on(sha256('body 5'), 'comment'))).toBe('conflict')
        register(store, run, pause, 5)
        expect(refusal(on(sha256('other'), 'comment'))).toBe('conflict')
        expect(refusal(on(null, 'api'))).toBe('invalid')
        control(store, run, { id: commandId(), type: 'issue.void', pause, issueNumber: 5, cause: 'edited' })
        expect(store.pauseByIssue(5)).toBeNull()
        expect(refusal(on(sha256('body 5'), 'comment'))).toBe('conflict')
        register(store, run, pause, 6)
        expect(refusal(on(sha256('body 5'), 'comment'))).toBe('conflict')
        expect(refusal(on(sha256('body 6'), 'comment'))).toBe('')
      }))

    it('registers one issue a pause', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const one = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(week))
        const two = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(week), { instance: instanceOf('two') })
        register(store, one.run, one.pause, 5)
        register(store, one.run, one.pause, 5)
        expect(refusal(() => register(store, one.run, one.pause, 6))).toBe('conflict')
        expect(refusal(() => register(store, two.run, two.pause, 5))).toBe('conflict')
        expect(store.pauseByIssue(5)?.pause).toBe(one.pause)
        control(store, two.run, vote(two.run, two.pause, ['a'], 'approve', alice))
        expect(refusal(() => register(store, two.run, two.pause, 7))).toBe('conflict')
      }))

    it('keeps requesters from deciding where the floor says so', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const requesters = [{ id: 11, login: 'alice', role: 'actor' }]
        const settings = { preventSelfApproval: true }
        const { run, pause } = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(week), { settings, requesters })
        expect(refusal(() => control(store, run, vote(run, pause, ['a'], 'approve', alice)))).toBe('conflict')
        control(store, run, {
          id: commandId(),
          type: 'requesters.add',
          requesters: [
            { id: 12, login: 'bob', role: 'committer' },
            { id: 11, login: 'other', role: 'author' },
          ],
        })
        expect(store.record(run)?.requesters.map(({ id, login }) => [id, login])).toEqual([
          [11, 'alice'],
          [12, 'bob'],
        ])
        expect(refusal(() => control(store, run, vote(run, pause, ['a'], 'approve', bob)))).toBe('conflict')
        expect(refusal(() => control(store, run, vote(run, pause, ['a'], 'approve', carol)))).toBe('')
      }))

    const badPauses: [
      string,
      (run: string, now: (seconds: number) => string) => Parameters<typeof applyAs>[3],
      string,
    ][] = [
      [
        'an effect that does not wait',
        (run, at) => [request(run, 'a', 'allow'), pauseFor(run, 'p', ['a'], at(60))],
        'conflict',
      ],
      [
        'an effect under way',
        (run, at) => [
          request(run, 'b', 'allow'),
          start(run, 'b'),
          request(run, 'a', 'ask'),
          pauseFor(run, 'p', ['a'], at(60)),
        ],
        'conflict',
      ],
      ['an unknown effect', (run, at) => [pauseFor(run, 'p', ['a'], at(60))], 'conflict'],
      [
        'another binding',
        (run, at) => [request(run, 'a', 'ask', { binding: bindingOf('two') }), pauseFor(run, 'p', ['a'], at(60))],
        'conflict',
      ],
      [
        'the same effect twice',
        (run, at) => [request(run, 'a', 'ask'), pauseFor(run, 'p', ['a', 'a'], at(60))],
        'invalid',
      ],
      ['an expiry in the past', (run, at) => [request(run, 'a', 'ask'), pauseFor(run, 'p', ['a'], at(-1))], 'invalid'],
      [
        'an expiry after 30 days',
        (run, at) => [request(run, 'a', 'ask'), pauseFor(run, 'p', ['a'], at(30 * 86_400))],
        'invalid',
      ],
    ]
    it.each(badPauses)('refuses a pause with %s', (_, commands, code) =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const run = begin(store, [{ id: 'a' }, { id: 'b' }])
        expect(
          refusal(() =>
            applyAs(
              store,
              run,
              1,
              commands(run, seconds => clock.in(seconds)),
            ),
          ),
        ).toBe(code)
      }),
    )

    it('keeps no pause open longer than the settings of its run allow, whatever the runner asks for', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const run = begin(store, [{ id: 'a' }], { settings: { expiresAfterSeconds: 3600 } })
        applyAs(store, run, 1, [request(run, 'a', 'ask'), pauseFor(run, 'p', ['a'], clock.in(20 * 86_400))])
        expect(store.pause('p')?.expiresAt).toBe(clock.in(3600))
      }))

    it('tells a running run in its next receipt that it shall stop', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        control(store, run, { id: commandId(), type: 'run.cancel', person: bob, reason: 'stop', via: 'api' })
        expect(store.record(run)?.state).toBe('running')
        expect(applyAs(store, run, 1, [move('a', 'running')]).cancelRequested).toBe(true)
        applyAs(store, run, 1, [end('cancelled')])
        const again = { id: commandId(), type: 'run.cancel', person: bob, reason: 'stop', via: 'api' } as const
        expect(refusal(() => control(store, run, again))).toBe('conflict')
      }))
  })
}

function register(store: LedgerStore, run: string, pause: string, number: number): void {
  control(store, run, {
    id: commandId(),
    type: 'pause.register',
    pause,
    issueNumber: number,
    issueId: 1000 + number,
    issueUrl: `https://github.example/org/app/issues/${number}`,
    bodyDigest: sha256(`body ${number}`),
  })
}
