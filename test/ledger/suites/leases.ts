import { describe, expect, it } from 'vitest'
import type { LeaseHolder } from '../../../ledger/index.ts'
import {
  applyAs,
  begin,
  control,
  create,
  end,
  finish,
  holder,
  instanceOf,
  move,
  reconcile,
  request,
  start,
} from '../support/commands.ts'
import type { Engine } from '../support/engine.ts'
import { openStore, refusal } from './lifecycle.ts'

const job = (attempt: number, workflowRunId = 7001): LeaseHolder => ({ kind: 'job', workflowRunId, attempt })
const local = (pid: number, bootId = 'boot'): LeaseHolder => ({ kind: 'local', bootId, pid, startTime: '1' })

export function leaseSuite(engine: Engine): void {
  describe(`leases on ${engine.name}`, () => {
    it('reserves one id an instance; asking again fences the earlier asker', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const of = (attempt: number) => ({
          instance: instanceOf('one', { attempt }),
          settings: create([]).settings,
          requesters: [{ id: attempt, login: `user-${attempt}`, role: 'actor' }],
          parent: null,
        })
        const first = store.reserve(of(1))
        const second = store.reserve(of(2))
        expect(second).toEqual({ run: first.run, epoch: 2 })
        const createAt = (epoch: number) => () => store.apply({ ...first, epoch, commands: [create([])] }, 'job:7001/1')
        expect(refusal(createAt(1))).toBe('stale_epoch')
        createAt(2)()
        expect(store.byInstance('one')).toMatchObject({
          run: first.run,
          epoch: 2,
          instance: { attempt: 2 },
          requesters: [{ id: 1 }, { id: 2 }],
        })
        expect(refusal(() => store.reserve(of(3)))).toBe('conflict')
        applyAs(store, first.run, 2, [end('failed')])
        const next = store.reserve({ ...of(3), parent: first.run })
        expect(next.run).not.toBe(first.run)
        store.apply({ ...next, commands: [create([])] }, 'job:7001/3')
        expect(store.byInstance('one')).toMatchObject({ run: next.run, parent: first.run })
      }))

    it('creates no run without a reservation or a holder', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const batch = { run: 'made-up', epoch: 1, commands: [create([])] }
        expect(refusal(() => store.apply(batch, 'job:7001/1'))).toBe('not_found')
        expect(store.record('made-up')).toBeNull()
      }))

    const takeovers: { name: string; wait: number; by: LeaseHolder; refused: string }[] = [
      { name: 'the same attempt again', wait: 0, by: job(1), refused: 'lease_held' },
      { name: 'another workflow run', wait: 0, by: job(2, 8000), refused: 'lease_held' },
      { name: 'a local process', wait: 0, by: local(5), refused: 'lease_held' },
      { name: 'a later attempt', wait: 0, by: job(2), refused: '' },
      { name: 'the same attempt after 59 s', wait: 59, by: job(1), refused: 'lease_held' },
      { name: 'the same attempt after 60 s', wait: 60, by: job(1), refused: '' },
    ]
    it.each(takeovers)('a job lease against $name: $refused', ({ wait, by, refused }) =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        clock.advance(wait)
        const acquire = () => store.acquire(run, by, 'system')
        expect(refusal(acquire)).toBe(refused)
        if (refused !== '') return
        expect(store.lease(run)).toMatchObject({ holder: by, epoch: 2 })
        expect(refusal(() => applyAs(store, run, 1, [move('a', 'running')]))).toBe('stale_epoch')
        applyAs(store, run, 2, [move('a', 'running')])
      }),
    )

    it('frees the lease of a dead process at once, of a living one never', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const run = 'local-run'
        store.apply({ run, epoch: 1, commands: [create([{ id: 'a' }])] }, 'local:0', local(5))
        expect(store.acquire(run, local(5), 'local:0')).toEqual({ epoch: 1, taken: true })
        clock.advance(3600)
        const take = (alive: boolean) => () => store.acquire(run, local(6), 'local:0', { isAlive: () => alive })
        expect(refusal(take(true))).toBe('lease_held')
        expect(take(false)()).toEqual({ epoch: 2, taken: true })
      }))

    it('frees the lease of a process that cannot be seen once it has run out, and not before', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const run = 'local-run'
        store.apply({ run, epoch: 1, commands: [create([{ id: 'a' }])] }, 'local:0', local(5))
        const take = () => store.acquire(run, local(6), 'local:0', { isAlive: () => null })
        clock.advance(59)
        expect(refusal(take)).toBe('lease_held')
        clock.advance(1)
        expect(take()).toEqual({ epoch: 2, taken: true })
      }))

    it('takes a process of the same number in another pid namespace for another one', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = 'local-run'
        const here = { ...local(5), pidNamespace: 'pid:[1]' }
        store.apply({ run, epoch: 1, commands: [create([{ id: 'a' }])] }, 'local:0', here)
        expect(store.acquire(run, here, 'local:0')).toEqual({ epoch: 1, taken: true })
        const there = { ...here, pidNamespace: 'pid:[2]' }
        expect(refusal(() => store.acquire(run, there, 'local:0', { isAlive: () => null }))).toBe('lease_held')
      }))

    it('renews by any batch near its end, and takes a late batch that nobody fenced', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        clock.advance(30)
        applyAs(store, run, 1, [move('a', 'running')])
        expect(store.lease(run)?.expiresAt).toBe(clock.in(60))
        clock.advance(20)
        applyAs(store, run, 1, [{ id: 'renewal', type: 'lease.renew' }])
        applyAs(store, run, 1, [{ id: 'renewal', type: 'lease.renew' }])
        expect(store.lease(run)?.expiresAt).toBe(clock.in(60))
        clock.advance(500)
        expect(refusal(() => applyAs(store, run, 1, [move('a', 'succeeded')]))).toBe('')
      }))

    it('holds nothing where there is nothing to go on with', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        applyAs(store, run, 1, [move('a', 'succeeded'), end('succeeded')])
        expect(store.acquire(run, holder, 'system')).toEqual({ epoch: 1, taken: false })
        expect(refusal(() => store.acquire('nowhere', holder, 'system'))).toBe('not_found')
      }))

    it('can be given back and taken again', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        applyAs(store, run, 1, [{ id: 'release', type: 'lease.release' }])
        expect(store.lease(run)).toBeNull()
        expect(refusal(() => applyAs(store, run, 1, [move('a', 'running')]))).toBe('stale_epoch')
        expect(store.acquire(run, job(1), 'system')).toEqual({ epoch: 2, taken: true })
      }))

    it('takes the facts of the attempt that takes over', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        const instance = instanceOf('instance-1', { attempt: 2, jobId: 9002 })
        store.acquire(run, job(2), 'job:7001/2', { instance, requesters: [{ id: 5, login: 'eve', role: 'actor' }] })
        expect(store.record(run)).toMatchObject({ instance: { attempt: 2, jobId: 9002 }, requesters: [{ id: 5 }] })
      }))
  })

  describe(`reconciliation on ${engine.name}`, () => {
    const unsure = (store: ReturnType<typeof openStore>['store']) => {
      const run = begin(store, [{ id: 'a' }, { id: 'b', needs: ['a'] }])
      applyAs(store, run, 1, [move('a', 'running'), request(run, 'a', 'allow'), start(run, 'a')])
      applyAs(store, run, 1, [
        finish(run, 'a', 'uncertain', { result: null }),
        move('a', 'uncertain'),
        end('uncertain'),
      ])
      return run
    }

    it('applied: the task is done with the given result and the run can go on', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = unsure(store)
        expect(store.acquire(run, job(2), 'system').taken).toBe(false)
        control(store, run, reconcile(run, 'a', 'applied', { result: { inline: { changed: true } } }))
        expect(store.snapshot(run)).toMatchObject({
          record: { state: 'paused', pause: null, endedAt: null },
          tasks: [{ state: 'succeeded', output: { changed: true }, attempt: 1 }, { state: 'pending' }],
          effects: [{ state: 'succeeded', result: { changed: true }, reconciliations: [{ status: 'applied' }] }],
        })
        expect(store.acquire(run, job(2), 'system')).toEqual({ epoch: 2, taken: true })
      }))

    it.each(['not-applied', 'compensated'] as const)('%s: the task runs again as its next attempt', status =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = unsure(store)
        control(store, run, reconcile(run, 'a', status))
        expect(store.snapshot(run)).toMatchObject({
          record: { state: 'paused' },
          tasks: [{ state: 'pending', attempt: 2, output: null }, {}],
          effects: [{ state: 'failed', error: { code: status === 'compensated' ? 'compensated' : 'not_applied' } }],
        })
        store.acquire(run, job(2), 'system')
        applyAs(store, run, 2, [request(run, 'a', 'allow', { attempt: 2 }), start(run, 'a', 'one', 2)])
      }),
    )

    const statuses = ['applied', 'not-applied', 'compensated'] as const
    const pairs = statuses.flatMap(first => statuses.map(then => ({ first, then })))
    it.each(pairs)('$first, then $then', ({ first, then }) =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = unsure(store)
        control(store, run, reconcile(run, 'a', first))
        const isAllowed = first === then || (first === 'applied' && then === 'compensated')
        expect(refusal(() => control(store, run, reconcile(run, 'a', then)))).toBe(isAllowed ? '' : 'conflict')
        const attempt = first === 'applied' && then !== 'compensated' ? 1 : 2
        expect(store.snapshot(run)?.tasks[0]?.attempt).toBe(attempt)
        expect(store.effects(run)[0]?.reconciliations).toHaveLength(isAllowed ? 2 : 1)
      }),
    )

    it('refuses what is not uncertain, and a run that is under way', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        applyAs(store, run, 1, [request(run, 'a', 'allow'), start(run, 'a')])
        expect(refusal(() => control(store, run, reconcile(run, 'a', 'applied')))).toBe('conflict')
        applyAs(store, run, 1, [finish(run, 'a'), move('a', 'failed'), end('failed')])
        expect(refusal(() => control(store, run, reconcile(run, 'a', 'applied')))).toBe('conflict')
      }))

    it('waits for every uncertain effect', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }, { id: 'b' }])
        for (const task of ['a', 'b']) applyAs(store, run, 1, [request(run, task, 'allow'), start(run, task)])
        for (const task of ['a', 'b']) {
          applyAs(store, run, 1, [finish(run, task, 'uncertain'), move(task, 'uncertain')])
        }
        applyAs(store, run, 1, [end('uncertain')])
        control(store, run, reconcile(run, 'a', 'applied'))
        expect(store.record(run)?.state).toBe('uncertain')
        control(store, run, reconcile(run, 'b', 'not-applied'))
        expect(store.record(run)?.state).toBe('paused')
      }))
  })
}
