import { describe, expect, it } from 'vitest'
import { LedgerStore, verifyAudit } from '../../../ledger/index.ts'
import {
  actor,
  applyAs,
  begin,
  create,
  end,
  finish,
  holder,
  instanceOf,
  move,
  pure,
  request,
  start,
} from '../support/commands.ts'
import type { Disk, Engine } from '../support/engine.ts'
import { TestClock, TestIds } from '../support/world.ts'

export function openStore(disk: Disk): { store: LedgerStore; clock: TestClock } {
  const clock = new TestClock()
  return { store: new LedgerStore(disk.open(), { clock, ids: new TestIds(), ledger: '42' }), clock }
}

/** The code of the LedgerError that a call throws, empty where it throws none. */
export function refusal(f: () => unknown): string {
  try {
    f()
    return ''
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code)
    throw error
  }
}

export function lifecycleSuite(engine: Engine): void {
  describe(`a run's life on ${engine.name}`, () => {
    it('goes from its first batch to its end in commits that survive a restart', () =>
      engine.withDisk(async disk => {
        const { store, clock } = openStore(disk)
        const run = 'run-1'
        const first = [
          create([{ id: 'a' }, { id: 'b', needs: ['a'] }], { memory: { count: 1 } }),
          pure(run, 'a'),
          move('a', 'succeeded', { output: { inline: { text: 'hello' } }, memory: { count: 2, more: [1] } }),
          move('b', 'running'),
          request(run, 'b', 'allow'),
          start(run, 'b'),
        ]
        store.apply({ run, epoch: 1, commands: first }, actor, holder)
        clock.advance(5)
        store.apply(
          {
            run,
            epoch: 1,
            commands: [
              finish(run, 'b'),
              move('b', 'succeeded', { output: { inline: 7 } }),
              end('succeeded', { result: 7 }),
            ],
          },
          actor,
        )

        const again = new LedgerStore(disk.open(), { clock, ids: new TestIds() })
        const snapshot = again.snapshot(run)
        expect(snapshot?.record).toMatchObject({ state: 'succeeded', epoch: 1, endedAt: '2026-03-01T10:00:05.000Z' })
        expect(snapshot?.tasks.map(({ task, state, output }) => [task, state, output])).toEqual([
          ['a', 'succeeded', { text: 'hello' }],
          ['b', 'succeeded', 7],
        ])
        expect(snapshot?.effects.map(({ task, state, result }) => [task, state, result])).toEqual([
          ['a', 'succeeded', null],
          ['b', 'succeeded', { changed: true }],
        ])
        expect(snapshot).toMatchObject({
          memory: { count: 2, more: [1] },
          outputs: { result: 7 },
          plan: { order: ['a', 'b'] },
        })
        expect(again.lease(run)).toBeNull()
        expect(await verifyAudit(again.exportLines(run), again.head(`run/${run}`))).toMatchObject({ ok: true })
        expect(await verifyAudit(again.exportLines(), again.head())).toMatchObject({ ok: true })
      }))

    it('answers a repeated batch with its receipt and refuses one that was applied in part', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        const commands = [pure(run, 'a'), move('a', 'succeeded')]
        const receipt = applyAs(store, run, 1, commands)
        expect(applyAs(store, run, 1, commands)).toEqual(receipt)
        expect(refusal(() => applyAs(store, run, 1, [...commands, move('a', 'failed')]))).toBe('invalid')
        expect(store.effects(run)).toHaveLength(1)
      }))

    it('undoes a whole batch when one of its commands is refused', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        const head = store.head(`run/${run}`)
        const batch = [move('a', 'running'), request(run, 'a', 'allow'), start(run, 'a', 'another binding')]
        expect(refusal(() => applyAs(store, run, 1, batch))).toBe('conflict')
        expect(store.head(`run/${run}`)).toBe(head)
        expect(store.snapshot(run)?.tasks[0]?.state).toBe('pending')
        expect(store.effects(run)).toEqual([])
      }))

    const refusals: [string, (run: string) => Parameters<typeof applyAs>[3], string][] = [
      ['a start that was never requested', run => [start(run, 'a')], 'not_found'],
      ['a start of what was denied', run => [request(run, 'a', 'deny'), start(run, 'a')], 'conflict'],
      ['a start before the approval', run => [request(run, 'a', 'ask'), start(run, 'a')], 'conflict'],
      ['a second start', run => [request(run, 'a', 'allow'), start(run, 'a'), start(run, 'a')], 'conflict'],
      ['a finish before the start', run => [request(run, 'a', 'allow'), finish(run, 'a')], 'conflict'],
      [
        'a second finish',
        run => [request(run, 'a', 'allow'), start(run, 'a'), finish(run, 'a'), finish(run, 'a', 'failed')],
        'conflict',
      ],
      [
        'a request of what has started',
        run => [request(run, 'a', 'allow'), start(run, 'a'), request(run, 'a', 'allow')],
        'conflict',
      ],
      [
        'an effect id that is not its own',
        run => [{ ...request(run, 'a', 'allow'), effect: 'f'.repeat(64) }],
        'invalid',
      ],
      [
        'a binding digest that is not its own',
        run => [{ ...request(run, 'a', 'allow'), bindingDigest: 'f'.repeat(64) }],
        'invalid',
      ],
      ['an effect of another attempt', run => [request(run, 'a', 'allow', { attempt: 2 })], 'conflict'],
      ['an unknown task', () => [move('nowhere', 'running')], 'not_found'],
      ['a move out of a terminal state', () => [move('a', 'failed'), move('a', 'running')], 'conflict'],
      ['a skipped attempt', () => [move('a', 'running'), move('a', 'running', { attempt: 3 })], 'conflict'],
      ['success while a task is open', () => [end('succeeded')], 'conflict'],
      ['an end milder than its tasks', () => [move('a', 'failed'), end('cancelled')], 'conflict'],
      ['an end while an effect runs', run => [request(run, 'a', 'allow'), start(run, 'a'), end('failed')], 'conflict'],
      ['a command behind the end', () => [end('failed'), move('a', 'running')], 'conflict'],
      ['a run created twice', () => [create([])], 'conflict'],
      [
        'an output of over 64 KiB',
        () => [move('a', 'succeeded', { output: { inline: 'x'.repeat(70_000) } })],
        'invalid',
      ],
      [
        'an output in a blob that is not there',
        () => [move('a', 'succeeded', { output: { blob: { sha256: 'e'.repeat(64), bytes: 3 } } })],
        'invalid',
      ],
    ]
    it.each(refusals)('refuses %s', (_, commands, code) =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        expect(refusal(() => applyAs(store, run, 1, commands(run)))).toBe(code)
      }),
    )

    it('retries a task as its next attempt', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        applyAs(store, run, 1, [move('a', 'running'), request(run, 'a', 'allow'), start(run, 'a')])
        applyAs(store, run, 1, [finish(run, 'a', 'failed'), move('a', 'running', { attempt: 2 })])
        applyAs(store, run, 1, [request(run, 'a', 'allow', { attempt: 2 }), start(run, 'a', 'one', 2)])
        expect(store.effects(run).map(({ attempt, state }) => [attempt, state])).toEqual([
          [1, 'failed'],
          [2, 'started'],
        ])
      }))

    it('cancels what has not run when a run ends, and keeps it where the run is uncertain', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const ended = begin(store, [{ id: 'a' }, { id: 'b' }])
        applyAs(store, ended, 1, [move('a', 'failed'), request(ended, 'b', 'allow'), end('failed')])
        expect(store.snapshot(ended)?.tasks.map(task => task.state)).toEqual(['failed', 'cancelled'])
        expect(store.effects(ended).map(effect => effect.state)).toEqual(['cancelled'])
        const unsure = begin(store, [{ id: 'a' }, { id: 'b' }], { instance: instanceOf('two') })
        applyAs(store, unsure, 1, [request(unsure, 'a', 'allow'), start(unsure, 'a')])
        applyAs(store, unsure, 1, [finish(unsure, 'a', 'uncertain'), move('a', 'uncertain'), end('uncertain')])
        expect(store.snapshot(unsure)?.tasks.map(task => task.state)).toEqual(['uncertain', 'pending'])
      }))

    it('lists runs newest first, filtered, in pages', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const made = Array.from({ length: 5 }, (_, index) => {
          clock.advance(60)
          const sha = index % 2 === 0 ? 'a'.repeat(40) : 'b'.repeat(40)
          const run = `run-${index}`
          const command = create([{ id: 'a' }], {
            workflowName: index < 3 ? 'one' : 'two',
            commit: { sha, head: null },
          })
          store.apply({ run, epoch: 1, commands: [command] }, actor, holder)
          return run
        }).reverse()
        applyAs(store, 'run-0', 1, [move('a', 'failed'), end('failed')])
        const first = store.runs({ limit: 2 })
        const second = store.runs({ limit: 2, cursor: first.next })
        const third = store.runs({ limit: 2, cursor: second.next })
        expect([...first.items, ...second.items, ...third.items].map(item => item.run)).toEqual(made)
        expect(third.next).toBeNull()
        const names = (query: Parameters<LedgerStore['runs']>[0]) => store.runs(query).items.map(item => item.run)
        expect(names({ state: 'failed' })).toEqual(['run-0'])
        expect(names({ workflow: 'two' })).toEqual(['run-4', 'run-3'])
        expect(names({ commit: 'b'.repeat(40) })).toEqual(['run-3', 'run-1'])
        expect(names({ since: '2026-03-01T10:04:00.000Z' })).toEqual(['run-4', 'run-3'])
        expect(refusal(() => store.runs({ cursor: 'x' }))).toBe('invalid')
      }))
  })
}
