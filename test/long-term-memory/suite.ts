import { describe, expect, it } from 'vitest'
import { importLedger, LedgerStore, verifyAudit } from '../../ledger/index.ts'
import type { Json } from '../../policy/json.ts'
import { openStore, refusal } from '../ledger/suites/lifecycle.ts'
import { applyAs, begin, end, instanceOf } from '../ledger/support/commands.ts'
import type { Engine } from '../ledger/support/engine.ts'
import { type TestClock, TestIds } from '../ledger/support/world.ts'
import { writing } from './commands.ts'

type Item = Parameters<typeof writing>[2]

/** A run of one task a value, each in a boundary of its own. */
function keep(store: LedgerStore, clock: TestClock, name: string, items: Item[]): string {
  const run = begin(
    store,
    items.map((_, index) => ({ id: `t${index}` })),
    { instance: instanceOf(name) },
  )
  for (const [index, item] of items.entries()) {
    clock.advance(1)
    applyAs(store, run, 1, writing(run, `t${index}`, item))
  }
  return run
}

const keys = (items: { key: string }[]) => items.map(({ key }) => key)

/** The long-term memory, the same on both engines. */
export function longTermSuite(engine: Engine): void {
  describe(`long-term memory on ${engine.name}`, () => {
    it('keeps values of any type by namespace, over a restart and for later runs', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const values: Json[] = ['text', 3, null, false, [], { deep: [{ a: 1 }] }]
        keep(
          store,
          clock,
          'one',
          values.map((value, index) => ({ key: `k${index}`, value })),
        )
        keep(store, clock, 'two', [{ key: 'k0', value: 'other', namespace: 'team' }])
        const again = new LedgerStore(disk.open(), { clock, ids: new TestIds() })
        for (const [index, value] of values.entries())
          expect(again.longTerm('default', `k${index}`)).toEqual({ key: `k${index}`, value })
        expect(again.longTerm('team', 'k0')).toEqual({ key: 'k0', value: 'other' })
        expect(again.longTerm('team', 'k1')).toBeNull()
        expect(again.longTerm('tea', 'k0')).toBeNull()
      }))

    it('writes with the finish of its effect or not at all', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        const commands = writing(run, 'a', { key: 'k', value: 1 })
        const failing = [...commands, end('succeeded'), end('succeeded')]
        expect(refusal(() => applyAs(store, run, 1, failing))).toBe('conflict')
        expect(store.longTerm('default', 'k')).toBeNull()
        expect(store.effects(run)).toEqual([])
        applyAs(store, run, 1, commands)
        applyAs(store, run, 1, commands)
        expect(store.longTerm('default', 'k')).toEqual({ key: 'k', value: 1 })
        const written = store.events({ chain: `run/${run}` }).items.filter(({ type }) => type === 'long_term.written')
        expect(written.map(({ data }) => data)).toMatchObject([{ namespace: 'default', key: 'k', expiresAt: null }])
      }))

    it('refuses a value with an effect that failed, and one with an effect that writes none', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        const failed = writing(run, 'a', { key: 'k', value: 1 }, { to: 'failed' })
        expect(refusal(() => applyAs(store, run, 1, failed))).toBe('invalid')
        const [asked, started, finished] = writing(run, 'a', { key: 'k', value: 1 })
        if (asked?.type !== 'effect.request' || started === undefined || finished === undefined) throw new Error()
        // The identity holds over the operation, so another one is another effect.
        expect(refusal(() => applyAs(store, run, 1, [{ ...asked, operation: 'builtin.write' }]))).toBe('invalid')
        expect(store.longTerm('default', 'k')).toBeNull()
      }))

    it('never reads what has expired, and sweeps it with its blob', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const blob = store.putBlob(new TextEncoder().encode(JSON.stringify('x'.repeat(100_000))))
        const run = begin(store, [{ id: 'a' }, { id: 'b' }, { id: 'c' }])
        applyAs(store, run, 1, writing(run, 'a', { key: 'day', value: 'one word', retentionDays: 1 }))
        applyAs(store, run, 1, writing(run, 'b', { key: 'good', value: 'one word' }))
        const large = { namespace: 'default', key: 'large', value: { blob }, retentionDays: 2 }
        applyAs(store, run, 1, [
          ...writing(run, 'c', { key: 'large', value: null }, { longTerm: large }),
          end('succeeded'),
        ])
        store.eraseRun(run, 'system')
        clock.advance(86_399)
        expect(store.longTerm('default', 'day')).not.toBeNull()
        clock.advance(1)
        expect(store.longTerm('default', 'day')).toBeNull()
        expect(keys(store.searchLongTerm('default', 'word'))).toEqual(['good'])
        clock.advance(1)
        store.sweep()
        // The run is erased: only the value itself holds the blob.
        expect(store.longTerm('default', 'large')?.value).toHaveLength(100_000)
        clock.advance(86_400)
        store.sweep()
        expect(store.longTerm('default', 'large')).toBeNull()
        expect(store.getBlob(blob.sha256)).toBeNull()
        expect(store.longTerm('default', 'good')).toEqual({ key: 'good', value: 'one word' })
      }))

    it('a later write replaces value, expiry and blob', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        keep(store, clock, 'one', [
          { key: 'k', value: 'first', retentionDays: 1 },
          { key: 'k', value: 'second' },
        ])
        clock.advance(10 * 86_400)
        expect(store.longTerm('default', 'k')).toEqual({ key: 'k', value: 'second' })
        expect(store.searchLongTerm('default', 'first')).toEqual([])
      }))

    it('finds every word in key, names and texts, in either case, the latest first, and takes no pattern', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const long = 'a sentence of more than fifty bytes, which no LIKE of a Durable Object takes'
        keep(store, clock, 'one', [
          { key: 'deploy/eu', value: { region: 'Frankfurt', ok: true } },
          { key: 'deploy/us', value: ['Ohio', 100] },
          { key: 'note', value: `100% _done_ 'quoted' Ärger ${long}` },
          { key: 'other', value: 'Frankfurt', namespace: 'team' },
        ])
        const found = (query: string, limit?: number) => keys(store.searchLongTerm('default', query, limit))
        expect(found('DEPLOY')).toEqual(['deploy/us', 'deploy/eu'])
        expect(found('deploy', 1)).toEqual(['deploy/us'])
        expect(found('frankfurt region')).toEqual(['deploy/eu'])
        expect(found('frankfurt ohio')).toEqual([])
        expect(found('100')).toEqual(['note', 'deploy/us'])
        expect(found('100%')).toEqual(['note'])
        expect(found('_done_')).toEqual(['note'])
        expect(found('d_ne')).toEqual([])
        expect(found("'quoted'")).toEqual(['note'])
        expect(found('ärger')).toEqual(['note'])
        expect(found(long)).toEqual(['note'])
        expect(found('   ')).toEqual([])
        expect(store.searchLongTerm('default', 'ohio')).toEqual([{ key: 'deploy/us', value: ['Ohio', 100] }])
      }))

    it('goes with an export into another ledger, and the trail verifies', () =>
      engine.withDisk(async disk => {
        const { store, clock } = openStore(disk)
        keep(store, clock, 'one', [{ key: 'k', value: { a: 1 }, retentionDays: 30 }])
        expect(await verifyAudit(store.exportLines(), store.head())).toMatchObject({ ok: true })
        const lines = [...store.exportLedger()]
        await engine.withDisk(other => {
          importLedger(other.open(), lines)
          const copy = new LedgerStore(other.open(), { clock, ids: new TestIds() })
          expect(copy.longTerm('default', 'k')).toEqual({ key: 'k', value: { a: 1 } })
        })
      }))
  })
}
