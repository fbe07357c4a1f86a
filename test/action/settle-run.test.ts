import { describe, expect, test } from 'vitest'
import { settleRun } from '../../action/settle-run.ts'
import type { LeaseCommand } from '../../ledger/commands.ts'
import { embeddedLedger, LedgerStore, openNodeSql, systemClock, systemIds, verifyAudit } from '../../ledger/index.ts'
import { actor, create, effectOf, finish, holder, move, request, start } from '../ledger/support/commands.ts'

/** What the post step makes of a run that main left running, on a real ledger. */
const run = 'run-1'

function left(...commands: LeaseCommand[]) {
  const store = new LedgerStore(openNodeSql(':memory:'), { clock: systemClock, ids: systemIds })
  const tasks = [{ id: 'a' }, { id: 'b', failure: 'continue' as const }, { id: 'c', needs: ['a'] }]
  store.apply({ run, epoch: 1, commands: [create(tasks), ...commands] }, actor, holder)
  return {
    store,
    async settle(rest: 'release' | 'end') {
      const snapshot = store.snapshot(run)
      if (snapshot === null) throw new Error('no run')
      const settled = await settleRun(embeddedLedger(store, { holder, actor }), systemIds, { snapshot, epoch: 1 }, rest)
      expect(await verifyAudit(store.exportLines())).toMatchObject({ ok: true })
      return settled
    },
    state: () => store.record(run)?.state,
    tasks: () => Object.fromEntries((store.snapshot(run)?.tasks ?? []).map(({ task, state }) => [task, state])),
  }
}

const begun = (task: string) => [move(task, 'running'), request(run, task, 'allow'), start(run, task)]
const done = (task: string) => [...begun(task), finish(run, task), move(task, 'succeeded')]

describe.each(['release', 'end'] as const)('nobody has seen a result (%s)', rest => {
  test('what was started is uncertain, and so is the run; the others wait', async () => {
    const it = left(...begun('a'), ...begun('b'))
    const settled = await it.settle(rest)
    expect(settled.state).toBe('uncertain')
    expect(settled.messages).toEqual(
      ['a', 'b'].map(task =>
        expect.stringMatching(`^task ${task} is uncertain: agentctl effects reconcile ${effectOf(run, task)} --status`),
      ),
    )
    expect([it.state(), it.tasks()]).toEqual(['uncertain', { a: 'uncertain', b: 'uncertain', c: 'pending' }])
    expect(it.store.effects(run)).toEqual(
      [0, 1].map(() =>
        expect.objectContaining({ state: 'uncertain', error: expect.objectContaining({ code: 'interrupted' }) }),
      ),
    )
    expect(it.store.lease(run)).toBeNull()
  })

  test('an effect that is uncertain already makes the run so', async () => {
    const it = left(...begun('a'), finish(run, 'a', 'uncertain', { result: null }))
    expect(await it.settle(rest)).toMatchObject({
      state: 'uncertain',
      messages: [expect.stringContaining(effectOf(run, 'a'))],
    })
  })

  test('a result that was recorded stands', async () => {
    const it = left(...begun('b'), finish(run, 'b'), ...begun('a'))
    await it.settle(rest)
    expect(it.store.effects(run).map(({ task, state }) => [task, state])).toEqual([
      ['a', 'uncertain'],
      ['b', 'succeeded'],
    ])
  })

  test.each(['failed', 'denied'] as const)('a task that stops the run as %s ends it', async to => {
    const it = left(move('a', 'running'), move('a', to))
    expect(await it.settle(rest)).toEqual({ state: to, messages: [] })
    expect(it.tasks()).toEqual({ a: to, b: 'cancelled', c: 'cancelled' })
  })
})

describe('nothing was under way', () => {
  test('a run that can be resumed is given back as it stands', async () => {
    const it = left(...done('a'), request(run, 'c', 'allow'))
    expect(await it.settle('release')).toEqual({ state: 'running', messages: [] })
    expect([it.state(), it.store.lease(run)]).toEqual(['running', null])
    expect(it.tasks()).toEqual({ a: 'succeeded', b: 'pending', c: 'pending' })
  })

  test('a failed task that stops nothing does not end it', async () => {
    const it = left(move('b', 'running'), move('b', 'failed'))
    expect((await it.settle('release')).state).toBe('running')
  })

  test('a run that nothing can resume is cancelled', async () => {
    const it = left(...done('a'))
    expect(await it.settle('end')).toEqual({ state: 'cancelled', messages: [] })
    expect(it.tasks()).toEqual({ a: 'succeeded', b: 'cancelled', c: 'cancelled' })
  })

  test('one whose tasks all succeeded is not said to have succeeded: its outputs were not recorded', async () => {
    const it = left(...done('a'), ...done('b'), ...done('c'))
    expect((await it.settle('end')).state).toBe('cancelled')
  })
})
