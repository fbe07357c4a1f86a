import { describe, expect, it } from 'vitest'
import { dataDigest, eventHash } from '../../../ledger/audit/hash.ts'
import { auditData } from '../../../ledger/audit/types.ts'
import type { AuditLine } from '../../../ledger/index.ts'
import { auditTypes, importLedger, LedgerStore, verifyAudit } from '../../../ledger/index.ts'
import { writing } from '../../long-term-memory/commands.ts'
import {
  alice,
  applyAs,
  begin,
  beginPaused,
  bindingOf,
  commandId,
  control,
  end,
  finish,
  holder,
  instanceOf,
  move,
  pure,
  reconcile,
  request,
  start,
  vote,
} from '../support/commands.ts'
import type { Engine } from '../support/engine.ts'
import { TestClock, TestIds } from '../support/world.ts'
import { openStore, refusal } from './lifecycle.ts'

type Store = ReturnType<typeof openStore>['store']

/** A ledger in which everything happened that has a type of event. */
function everything(store: Store, clock: TestClock): { ended: string; paused: string } {
  const week = clock.in(604_800)
  const tasks = [{ id: 'a' }, { id: 'b' }, { id: 'c' }]
  const { run: ended, pause } = beginPaused(store, tasks, ['a'], week)
  const issue = { issueNumber: 5, issueId: 6, issueUrl: 'https://github.example/i/5', bodyDigest: 'e'.repeat(64) }
  control(store, ended, { id: commandId(), type: 'pause.register', pause, ...issue })
  control(store, ended, { id: commandId(), type: 'issue.void', pause, issueNumber: 5, cause: 'edited' })
  control(store, ended, { id: commandId(), type: 'requesters.add', requesters: [{ id: 9, login: 'x', role: 'actor' }] })
  control(store, ended, {
    id: commandId(),
    type: 'note.add',
    subject: `run/${ended}`,
    code: 'edited',
    data: { comment: 4 },
  })
  clock.advance(10)
  control(store, ended, vote(ended, pause, ['a'], 'approve', alice))
  store.acquire(ended, holder, 'job:7001/2')
  applyAs(store, ended, 2, [
    request(ended, 'a', 'ask', { binding: bindingOf('two'), changed: ['replaced_file_changed'] }),
  ])
  applyAs(store, ended, 2, [pure(ended, 'b'), move('b', 'succeeded')])
  applyAs(store, ended, 2, [move('c', 'running'), request(ended, 'c', 'allow'), start(ended, 'c')])
  applyAs(store, ended, 2, [finish(ended, 'c', 'uncertain'), move('c', 'uncertain'), end('uncertain')])
  control(store, ended, reconcile(ended, 'c', 'applied'))
  store.acquire(ended, holder, 'job:7001/3')
  control(store, ended, { id: commandId(), type: 'run.cancel', person: alice, reason: 'enough', via: 'api' })
  applyAs(store, ended, 3, [{ id: commandId(), type: 'lease.release' }])
  store.acquire(ended, holder, 'job:7001/4')
  applyAs(store, ended, 4, [end('cancelled')])
  const { run: paused } = beginPaused(store, [{ id: 'a' }], ['a'], week, { instance: instanceOf('two') })
  undone(store)
  return { ended, paused }
}

/** A run whose first task wrote long-term memory and was compensated. */
function undone(store: Store): void {
  const run = begin(store, [{ id: 'a' }, { id: 'b' }], { instance: instanceOf('three') })
  applyAs(store, run, 1, [...writing(run, 'a', { key: 'k', value: 1 }), move('b', 'failed')])
  const tasks = [{ id: 'a--compensate', compensates: 'a', needs: [] }]
  applyAs(store, run, 1, [{ id: commandId(), type: 'compensation.begin', tasks }])
  applyAs(store, run, 1, [pure(run, 'a--compensate'), move('a--compensate', 'succeeded'), end('failed')])
}

const parse = (line: string) => JSON.parse(line) as AuditLine
const lines = (of: Iterable<string>) => [...of]

export function auditSuite(engine: Engine): void {
  describe(`the audit trail on ${engine.name}`, () => {
    it('has an event for every type but erasure, each by its schema, each bound to the one before', () =>
      engine.withDisk(async disk => {
        const { store, clock } = openStore(disk)
        everything(store, clock)
        const all = lines(store.exportLines()).map(parse)
        expect([...new Set(all.map(line => line.type))].sort()).toEqual(
          auditTypes.filter(type => type !== 'data.erased').sort(),
        )
        for (const line of all) {
          expect(Object.keys(auditData)).toContain(line.type)
          auditData[line.type as keyof typeof auditData].parse(line.data)
          const { salt = '', data = {} } = line
          expect(dataDigest(Uint8Array.from(Buffer.from(salt, 'hex')), data)).toBe(line.dataDigest)
          expect(eventHash(line)).toBe(line.hash)
        }
        expect(await verifyAudit(store.exportLines(), store.head())).toEqual({
          ok: true,
          events: all.length,
          head: store.head(),
        })
      }))

    it('exports a run with its checkpoints, and verifies it by the head', () =>
      engine.withDisk(async disk => {
        const { store, clock } = openStore(disk)
        const { ended } = everything(store, clock)
        const exported = lines(store.exportLines(ended))
        const chains = new Set(exported.map(line => parse(line).chain))
        expect([...chains]).toEqual(['ledger', `run/${ended}`])
        expect(
          exported
            .map(parse)
            .filter(line => line.chain === 'ledger')
            .every(line => line.type === 'checkpoint'),
        ).toBe(true)
        const head = store.head(`run/${ended}`)
        expect(await verifyAudit(exported, head)).toEqual({ ok: true, events: exported.length, head })
        expect(await verifyAudit(exported, 'f'.repeat(64))).toMatchObject({ ok: false, at: { chain: `run/${ended}` } })
        expect(refusal(() => lines(store.exportLines('nowhere')))).toBe('not_found')
      }))

    it('shows every change of one field of one event, and names that event', () =>
      engine.withDisk(async disk => {
        const { store, clock } = openStore(disk)
        const { ended } = everything(store, clock)
        for (const run of [undefined, ended]) {
          const exported = lines(store.exportLines(run))
          for (const [index, text] of exported.entries()) {
            const line = parse(text)
            const field =
              (['at', 'actor', 'type', 'subject', 'dataDigest', 'previous', 'hash', 'salt'] as const)[index % 8] ?? 'at'
            const forged = { ...line, [field]: forge(String(line[field])) }
            const verdict = await verifyAudit(exported.with(index, JSON.stringify(forged)))
            expect(verdict.ok, `${field} of ${line.chain} ${line.seq}`).toBe(false)
            if (!verdict.ok && field !== 'hash') expect(verdict.at).toEqual({ chain: line.chain, seq: line.seq })
            const changed = { ...line, data: { ...line.data, more: 1 } }
            expect(await verifyAudit(exported.with(index, JSON.stringify(changed)))).toMatchObject({
              ok: false,
              at: { chain: line.chain, seq: line.seq },
            })
          }
        }
      }))

    it('shows a removed, moved or doubled event, a cut end, and erasure that nobody recorded', () =>
      engine.withDisk(async disk => {
        const { store, clock } = openStore(disk)
        const { ended } = everything(store, clock)
        const head = store.head()
        const exported = lines(store.exportLines())
        const isBroken = async (changed: string[]) => !(await verifyAudit(changed, head)).ok
        for (const index of exported.keys()) {
          expect(await isBroken(exported.toSpliced(index, 1)), `without line ${index}`).toBe(
            !lacksCheckpointBehind(exported, index),
          )
          expect(await isBroken(exported.toSpliced(index, 0, exported[index] ?? ''))).toBe(true)
          const { salt: _, data: __, ...erased } = parse(exported[index] ?? '')
          expect(await isBroken(exported.with(index, JSON.stringify(erased)))).toBe(true)
        }
        const last = exported.length - 1
        expect(await isBroken(exported.with(last, exported[last - 1] ?? '').with(last - 1, exported[last] ?? ''))).toBe(
          true,
        )
        const ofRun = lines(store.exportLines(ended))
        // The end of a run has a checkpoint: nothing can be cut off behind it unseen.
        expect((await verifyAudit(ofRun.slice(0, -1))).ok).toBe(false)
        expect((await verifyAudit([])).ok).toBe(false)
        expect((await verifyAudit(['{"v":2}'])).ok).toBe(false)
        expect((await verifyAudit(['no json'])).ok).toBe(false)
      }))

    it('shows a forged event though every hash behind it was made anew', () =>
      engine.withDisk(async disk => {
        const { store, clock } = openStore(disk)
        everything(store, clock)
        const ledger = lines(store.exportLines())
          .map(parse)
          .filter(line => line.chain === 'ledger')
        const verdict = (index: number, change: Partial<AuditLine>) => verifyAudit(rehashed(ledger, index, change))
        const last = ledger.length - 1
        const at = { chain: 'ledger', seq: ledger.length }
        expect(await verdict(last, { at: '2020-01-01T00:00:00.000Z' })).toMatchObject({
          at,
          reason: expect.stringMatching(/dated before/),
        })
        expect(await verdict(last, { previous: 'a'.repeat(64) })).toMatchObject({
          at,
          reason: expect.stringMatching(/previous hash/),
        })
        expect(await verdict(last, { ledger: '43' })).toMatchObject({
          at,
          reason: expect.stringMatching(/another ledger/),
        })
        expect(await verdict(last, { type: 'ledger.created' })).toMatchObject({
          at,
          reason: expect.stringMatching(/first event/),
        })
        expect(await verdict(last, { type: 'made.up' })).toMatchObject({ at, reason: expect.stringMatching(/no type/) })
        const data = { run: 'x', seq: 'no number', head: '' }
        expect(await verdict(last, withData(data))).toMatchObject({
          at,
          reason: expect.stringMatching(/not that of checkpoint/),
        })
        // Only the heads that others hold show that a whole chain was made anew.
        expect(await verifyAudit(store.exportLines(), 'c'.repeat(64))).toMatchObject({
          ok: false,
          reason: expect.stringMatching(/expected/),
        })
      }))

    it('still verifies after erasure, which drops contents and says so', () =>
      engine.withDisk(async disk => {
        const { store, clock } = openStore(disk)
        const { ended, paused } = everything(store, clock)
        store.eraseRun(ended, 'system')
        const all = lines(store.exportLines())
        const ofRun = all.map(parse).filter(line => line.chain === `run/${ended}`)
        expect(ofRun.filter(line => line.data !== undefined).map(line => line.type)).toEqual(['data.erased'])
        expect(await verifyAudit(all, store.head())).toMatchObject({ ok: true })
        expect(await verifyAudit(store.exportLines(ended))).toMatchObject({ ok: true })
        expect(JSON.stringify(store.snapshot(ended))).not.toContain('a.txt')
        expect(refusal(() => store.eraseRun(paused, 'system'))).toBe('conflict')
        store.eraseRun(ended, 'system')
        expect(await verifyAudit(store.exportLines(ended))).toMatchObject({ ok: true })
      }))

    it('never dates an event before the last one of its chain', () =>
      engine.withDisk(async disk => {
        const { store, clock } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        clock.advance(-3600)
        applyAs(store, run, 1, [move('a', 'running')])
        const times = store.events({ chain: `run/${run}` }).items.map(event => event.at)
        expect(times).toEqual([...times].sort())
        expect(await verifyAudit(store.exportLines())).toMatchObject({ ok: true })
      }))

    it('answers pages of a chain', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const { ended } = everything(store, clock)
        const chain = `run/${ended}`
        const whole = store.events({ chain, limit: 1000 })
        const paged: AuditLine[] = []
        let after: number | null = 0
        while (after !== null) {
          const page: { items: AuditLine[]; next: number | null } = store.events({ chain, after, limit: 3 })
          paged.push(...page.items)
          after = page.next
        }
        expect(paged).toEqual(whole.items)
        expect(store.events({ chain, after: 1e9 })).toEqual({ items: [], next: null })
        expect(store.events({}).items[0]?.type).toBe('ledger.created')
      }))

    it('survives export and import as a whole', () =>
      engine.withDisk(async disk => {
        const { store, clock } = openStore(disk)
        const { ended, paused } = everything(store, clock)
        const blob = store.putBlob(new Uint8Array([1, 2, 3]))
        const dump = lines(store.exportLedger())
        // Read before the other disk is opened: a Durable Object cannot read another one's storage.
        const original = {
          ended: store.snapshot(ended),
          paused: store.snapshot(paused),
          audit: lines(store.exportLines()),
        }
        await engine.withDisk(other => {
          importLedger(other.open(), dump)
          const copy = new LedgerStore(other.open(), { clock: new TestClock(), ids: new TestIds() })
          expect(copy.ledger).toBe('42')
          expect(copy.snapshot(ended)).toEqual(original.ended)
          expect(copy.snapshot(paused)).toEqual(original.paused)
          expect(copy.getBlob(blob.sha256)).toEqual(new Uint8Array([1, 2, 3]))
          expect(lines(copy.exportLines())).toEqual(original.audit)
          expect(lines(copy.exportLedger())).toEqual(dump)
          expect(refusal(() => importLedger(other.open(), dump))).toBe('conflict')
        })
      }))

    const damages: [string, (dump: string[]) => string[], string][] = [
      ['without its last line', dump => dump.slice(0, -1), 'invalid'],
      ['without a row', dump => dump.toSpliced(3, 1), 'invalid'],
      ['without its header', dump => dump.slice(1), 'invalid'],
      ['with an unknown table', dump => dump.with(2, '{"table":"x","row":[]}'), 'invalid'],
      ['of a newer version', dump => dump.with(0, '{"format":"agentctl.ledger","version":99,"ledger":"42"}'), 'newer'],
      ['that is empty', () => [], 'invalid'],
    ]
    it.each(damages)('refuses an import %s and leaves nothing behind', (_, damage, code) =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        everything(store, clock)
        const dump = lines(store.exportLedger())
        return engine.withDisk(other => {
          const sql = other.open()
          expect(refusal(() => importLedger(sql, damage(dump)))).toBe(code)
          importLedger(sql, dump)
        })
      }),
    )

    it('refuses an export that the ledger changed meanwhile', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        everything(store, clock)
        const iterator = store.exportLedger()[Symbol.iterator]()
        iterator.next()
        begin(store, [{ id: 'a' }], { instance: instanceOf('three') })
        const rest = () => {
          while (iterator.next().done !== true);
        }
        expect(refusal(rest)).toBe('conflict')
      }))
  })
}

function withData(data: NonNullable<AuditLine['data']>): Partial<AuditLine> {
  const salt = new Uint8Array(16)
  return { data, salt: '0'.repeat(32), dataDigest: dataDigest(salt, data) }
}

/** A chain with one event changed and every hash from there on made to fit. */
function rehashed(chain: AuditLine[], index: number, change: Partial<AuditLine>): string[] {
  const made: AuditLine[] = []
  for (const [place, line] of chain.entries()) {
    const previous = made.at(-1)?.hash ?? line.previous
    const fields = { ...line, previous, ...(place === index ? change : {}) }
    made.push({ ...fields, hash: eventHash(fields) })
  }
  return made.map(line => JSON.stringify(line))
}

function forge(text: string): string {
  const last = text.at(-1)
  return text.slice(0, -1) + (last === '0' ? '1' : '0')
}

/** The last event of a run that still goes on has no checkpoint behind it: its loss shows only against that run's head. */
function lacksCheckpointBehind(exported: string[], index: number): boolean {
  const line = parse(exported[index] ?? '')
  const next = exported[index + 1]
  const isLast = next === undefined || parse(next).chain !== line.chain
  if (!isLast || line.chain === 'ledger') return false
  const noted = exported.map(parse).filter(event => event.type === 'checkpoint' && event.subject === line.chain)
  return !noted.some(event => event.data?.['seq'] === line.seq)
}
