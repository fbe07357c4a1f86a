import { describe, expect, it } from 'vitest'
import type { ControlCommand, LeaseCommand } from '../../ledger/commands.ts'
import { type LedgerStore, verifyAudit } from '../../ledger/index.ts'
import { openStore, refusal } from '../ledger/suites/lifecycle.ts'
import {
  actor,
  alice,
  applyAs,
  begin,
  commandId,
  control,
  effectOf,
  end,
  finish,
  holder,
  move,
  reconcile,
  request,
  start,
} from '../ledger/support/commands.ts'
import type { Engine } from '../ledger/support/engine.ts'

type Tasks = { id: string; compensates: string; needs: string[] }[]

export const compensation = (...of: string[]): Tasks =>
  of.map((compensates, index) => ({
    id: `${compensates}--compensate`,
    compensates,
    needs: index === 0 ? [] : [`${of[index - 1]}--compensate`],
  }))

const asked = (tasks: Tasks): ControlCommand => ({
  id: commandId(),
  type: 'run.compensate',
  tasks,
  person: alice,
  reason: 'undo it',
})

const begun = (tasks: Tasks): LeaseCommand => ({ id: commandId(), type: 'compensation.begin', tasks })

const doing = (run: string, task: string): LeaseCommand[] => [
  move(task, 'running'),
  request(run, task, 'allow'),
  start(run, task),
  finish(run, task),
  move(task, 'succeeded'),
]

/** A run in which a and b succeeded and c failed, ended where asked. */
function failed(store: LedgerStore, ended = true): string {
  const run = begin(store, [{ id: 'a' }, { id: 'b' }, { id: 'c' }])
  const commands = [...doing(run, 'a'), ...doing(run, 'b'), move('c', 'failed')]
  applyAs(store, run, 1, ended ? [...commands, end('failed')] : commands)
  return run
}

/** What compensation is to the ledger, the same on both engines. */
export function compensationSuite(engine: Engine): void {
  describe(`compensation on ${engine.name}`, () => {
    it('opens a failed run for its compensations, and each says of what it undid that it is compensated', () =>
      engine.withDisk(async disk => {
        const { store } = openStore(disk)
        const run = failed(store)
        control(store, run, asked(compensation('b', 'a')))
        expect(store.record(run)).toMatchObject({ state: 'paused', pause: null, endedAt: null })
        expect(store.acquire(run, holder, actor)).toEqual({ epoch: 2, taken: true })
        applyAs(store, run, 2, doing(run, 'b--compensate'))
        const after = store.snapshot(run)
        expect(after?.effects.find(({ task }) => task === 'b')).toMatchObject({
          state: 'failed',
          error: { code: 'compensated' },
          reconciliations: [{ status: 'compensated', reason: 'task b--compensate has undone it' }],
        })
        expect(after?.effects.find(({ task }) => task === 'a')?.state).toBe('succeeded')
        expect(after?.tasks.map(({ task, state, compensates = '' }) => [task, state, compensates])).toEqual([
          ['a', 'succeeded', ''],
          ['b', 'succeeded', ''],
          ['c', 'failed', ''],
          ['b--compensate', 'succeeded', 'b'],
          ['a--compensate', 'pending', 'a'],
        ])
        applyAs(store, run, 2, [...doing(run, 'a--compensate'), end('failed')])
        expect(store.record(run)?.state).toBe('failed')
        expect(await verifyAudit(store.exportLines(), store.head())).toMatchObject({ ok: true })
      }))

    it('a run that fails under its holder begins without a person, and never ends better than it was', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = failed(store, false)
        applyAs(store, run, 1, [begun(compensation('b', 'a'))])
        applyAs(store, run, 1, [...doing(run, 'b--compensate'), ...doing(run, 'a--compensate')])
        for (const better of ['succeeded', 'cancelled', 'denied'] as const)
          expect(refusal(() => applyAs(store, run, 1, [end(better)]))).toBe('conflict')
        applyAs(store, run, 1, [end('failed')])
      }))

    it('refuses what did not succeed, what is undone already, and what is being undone', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = failed(store)
        expect(refusal(() => control(store, run, asked(compensation('c'))))).toBe('conflict')
        expect(refusal(() => control(store, run, asked(compensation('nowhere'))))).toBe('not_found')
        expect(store.record(run)?.state).toBe('failed')
        control(store, run, asked(compensation('b')))
        expect(refusal(() => control(store, run, asked(compensation('a'))))).toBe('conflict')
        store.acquire(run, holder, actor)
        const again = compensation('b').map(task => ({ ...task, id: 'b--compensate-2' }))
        expect(refusal(() => applyAs(store, run, 2, [begun(again)]))).toBe('conflict')
        applyAs(store, run, 2, [...doing(run, 'b--compensate'), end('failed')])
        expect(refusal(() => control(store, run, asked(again)))).toBe('conflict')
        control(store, run, asked(compensation('a')))
      }))

    it('what a compensation left undone can be undone by a later one', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = failed(store)
        control(store, run, asked(compensation('b', 'a')))
        store.acquire(run, holder, actor)
        applyAs(store, run, 2, [move('b--compensate', 'failed'), end('failed')])
        expect(store.snapshot(run)?.tasks.at(-1)).toMatchObject({ task: 'a--compensate', state: 'cancelled' })
        const again = compensation('b', 'a').map(task => ({ ...task, id: `${task.id}-2`, needs: [] }))
        control(store, run, asked(again))
        store.acquire(run, holder, actor)
        applyAs(store, run, 3, [...doing(run, 'b--compensate-2'), ...doing(run, 'a--compensate-2'), end('failed')])
        expect(store.effects(run).filter(({ error }) => error?.code === 'compensated')).toHaveLength(2)
      }))

    it('an uncertain compensation is reconciled: applied means undone', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = failed(store)
        control(store, run, asked(compensation('b', 'a')))
        store.acquire(run, holder, actor)
        const task = 'b--compensate'
        applyAs(store, run, 2, [move(task, 'running'), request(run, task, 'allow'), start(run, task)])
        applyAs(store, run, 2, [finish(run, task, 'uncertain'), move(task, 'uncertain'), end('uncertain')])
        expect(refusal(() => control(store, run, asked(compensation('a'))))).toBe('conflict')
        expect(store.effect(effectOf(run, 'b'))?.state).toBe('succeeded')
        control(store, run, reconcile(run, task, 'applied'))
        expect(store.effect(effectOf(run, 'b'))).toMatchObject({ state: 'failed', error: { code: 'compensated' } })
        expect(store.record(run)).toMatchObject({ state: 'paused', pause: null })
        expect(store.acquire(run, holder, actor)).toEqual({ epoch: 3, taken: true })
        applyAs(store, run, 3, [...doing(run, 'a--compensate'), end('failed')])
      }))

    const formers = ['failed', 'denied', 'cancelled'] as const
    const undoings = ['succeeded', 'failed', 'denied', 'cancelled'] as const
    it.each(formers.flatMap(former => undoings.map(undo => [former, undo] as const)))(
      'a run that was %s ends so again, its undoing having %s',
      (former, undo) =>
        engine.withDisk(disk => {
          const { store } = openStore(disk)
          const run = begin(store, [{ id: 'a' }, { id: 'c' }])
          applyAs(store, run, 1, [...doing(run, 'a'), move('c', former), end(former)])
          control(store, run, asked(compensation('a')))
          store.acquire(run, holder, actor)
          applyAs(store, run, 2, undo === 'succeeded' ? doing(run, 'a--compensate') : [move('a--compensate', undo)])
          expect(store.snapshot(run)?.former).toBe(former)
          for (const other of undoings.filter(one => one !== former))
            expect(refusal(() => applyAs(store, run, 2, [end(other)]))).toBe('conflict')
          applyAs(store, run, 2, [end(former)])
          expect(store.record(run)?.state).toBe(former)
        }),
    )

    it('a run that was denied is uncertain while its undoing is, and denied again once that is settled', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }, { id: 'c' }])
        applyAs(store, run, 1, [...doing(run, 'a'), move('c', 'denied'), end('denied')])
        control(store, run, asked(compensation('a')))
        store.acquire(run, holder, actor)
        const task = 'a--compensate'
        applyAs(store, run, 2, [move(task, 'running'), request(run, task, 'allow'), start(run, task)])
        applyAs(store, run, 2, [finish(run, task, 'uncertain'), move(task, 'uncertain')])
        expect(refusal(() => applyAs(store, run, 2, [end('denied')]))).toBe('conflict')
        applyAs(store, run, 2, [end('uncertain')])
        control(store, run, reconcile(run, task, 'applied'))
        expect(store.record(run)?.state).toBe('paused')
        store.acquire(run, holder, actor)
        expect(refusal(() => applyAs(store, run, 3, [end('failed')]))).toBe('conflict')
        applyAs(store, run, 3, [end('denied')])
      }))

    it('cancelled while it waits to be undone, a run ends as it had', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }, { id: 'c' }])
        applyAs(store, run, 1, [...doing(run, 'a'), move('c', 'denied'), end('denied')])
        control(store, run, asked(compensation('a')))
        const cancel = { id: commandId(), type: 'run.cancel', person: alice, reason: 'leave it', via: 'cli' } as const
        control(store, run, cancel)
        expect(store.record(run)?.state).toBe('denied')
      }))

    it('does not open a run that runs, waits, is uncertain or succeeded', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        applyAs(store, run, 1, doing(run, 'a'))
        expect(refusal(() => control(store, run, asked(compensation('a'))))).toBe('conflict')
        applyAs(store, run, 1, [end('succeeded')])
        expect(refusal(() => control(store, run, asked(compensation('a'))))).toBe('conflict')
      }))
  })
}
