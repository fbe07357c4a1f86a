import { describe, expect, it } from 'vitest'
import { blobPartBytes } from '../../../ledger/payload.ts'
import { sha256 } from '../../../policy/canonical.ts'
import { applyAs, begin, beginPaused, create, end, holder, instanceOf, move } from '../support/commands.ts'
import type { Engine } from '../support/engine.ts'
import { openStore, refusal } from './lifecycle.ts'

function bytesOf(length: number, seed = 1): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (index * 31 + seed * 7) % 251)
}

export function storageSuite(engine: Engine): void {
  describe(`the SQL contract on ${engine.name}`, () => {
    const refused: [string, (sql: ReturnType<Parameters<Parameters<Engine['withDisk']>[0]>[0]['open']>) => unknown][] =
      [
        ['101 values', sql => sql.all(`SELECT ${'?,'.repeat(100)}?`, ...Array.from({ length: 101 }, () => 1))],
        ['a text of over 1 MB', sql => sql.all('SELECT ?', 'x'.repeat(1_000_001))],
        ['a text of over 1 MB in UTF-8', sql => sql.all('SELECT ?', 'ä'.repeat(500_001))],
        ['bytes of over 1 MB', sql => sql.all('SELECT ?', new Uint8Array(1_000_001))],
        ['a statement of over 100 KB', sql => sql.all(`SELECT '${'x'.repeat(100_000)}'`)],
        ['two statements', sql => sql.run('CREATE TABLE x (a TEXT); CREATE TABLE y (a TEXT)')],
        ['a number that is not finite', sql => sql.all('SELECT ?', Number.NaN)],
        ['a boolean', sql => sql.all('SELECT ?', true as unknown as number)],
        ['an undefined value', sql => sql.all('SELECT ?', undefined as unknown as null)],
        ['a transaction in a transaction', sql => sql.transaction(() => sql.transaction(() => 1))],
        ['a promise from a transaction', sql => sql.transaction(() => Promise.resolve(1))],
      ]
    it.each(refused)('refuses %s', (_, act) =>
      engine.withDisk(disk => {
        const sql = disk.open()
        expect(refusal(() => act(sql))).toBe('invalid')
        expect(sql.transaction(() => sql.all('SELECT 1'))).toEqual([[1]])
      }),
    )

    it('takes what is at its limits', () =>
      engine.withDisk(disk => {
        const sql = disk.open()
        expect(sql.all('SELECT length(?)', 'x'.repeat(1_000_000))).toEqual([[1_000_000]])
        expect(sql.all(`SELECT ${'?,'.repeat(99)}?`, ...Array.from({ length: 100 }, () => 1))[0]).toHaveLength(100)
      }))

    it('gives rows as arrays, bytes as bytes', () =>
      engine.withDisk(disk => {
        const sql = disk.open()
        sql.run('CREATE TABLE t (a TEXT, b INTEGER, c BLOB, d TEXT) STRICT')
        sql.run('INSERT INTO t VALUES (?, ?, ?, ?)', 'text', 2 ** 53 - 1, new Uint8Array([1, 2]), null)
        const [row] = sql.all('SELECT a, b, c, d, a FROM t')
        expect(row).toEqual(['text', 2 ** 53 - 1, new Uint8Array([1, 2]), null, 'text'])
      }))

    it('undoes a transaction that throws, a promise included', () =>
      engine.withDisk(disk => {
        const sql = disk.open()
        sql.run('CREATE TABLE t (a TEXT) STRICT')
        const insert = () => sql.run('INSERT INTO t VALUES (?)', 'x')
        expect(() =>
          sql.transaction(() => {
            insert()
            throw new Error('stop')
          }),
        ).toThrow('stop')
        expect(refusal(() => sql.transaction(async () => insert()))).toBe('invalid')
        expect(sql.all('SELECT count(*) FROM t')).toEqual([[0]])
        sql.transaction(insert)
        expect(disk.open().all('SELECT count(*) FROM t')).toEqual([[1]])
      }))
  })

  describe(`blobs on ${engine.name}`, () => {
    it.each([0, 1, blobPartBytes, blobPartBytes + 1, 3 * blobPartBytes - 5])('keep %i bytes in parts', length =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const bytes = bytesOf(length)
        const digest = sha256(bytes)
        const parts = Math.max(1, Math.ceil(length / blobPartBytes))
        // In reverse, and each twice: order and repetition do not matter.
        for (let part = parts - 1; part >= 0; part -= 1) {
          expect(store.getBlob(digest)).toBeNull()
          const slice = bytes.subarray(part * blobPartBytes, (part + 1) * blobPartBytes)
          store.putBlobPart(digest, part, length, slice)
          expect(store.putBlobPart(digest, part, length, slice)).toEqual({ complete: part === 0 })
        }
        expect(sha256(store.getBlob(digest) ?? new Uint8Array(9))).toBe(digest)
        expect(store.putBlob(bytes)).toEqual({ sha256: digest, bytes: length })
      }),
    )

    it('refuse what does not fit, and recover from a wrong part', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const bytes = bytesOf(blobPartBytes + 10)
        const digest = sha256(bytes)
        const put = (part: number, total: number, data: Uint8Array, sha = digest) =>
          refusal(() => store.putBlobPart(sha, part, total, data))
        const [first, second] = [bytes.subarray(0, blobPartBytes), bytes.subarray(blobPartBytes)]
        expect(put(2, bytes.length, second)).toBe('invalid')
        expect(put(0, bytes.length, second)).toBe('invalid')
        expect(put(0, 10, first)).toBe('invalid')
        expect(put(0, 1e9, first)).toBe('invalid')
        expect(put(0, 1, bytesOf(1), 'nothex')).toBe('invalid')
        expect(put(0, bytes.length, bytesOf(blobPartBytes, 2))).toBe('')
        expect(put(0, bytes.length + 1, first)).toBe('invalid')
        expect(put(1, bytes.length, second)).toBe('invalid')
        expect(store.getBlob(digest)).toBeNull()
        expect(put(0, bytes.length, first)).toBe('')
        expect(put(1, bytes.length, second)).toBe('')
        expect(store.getBlobPart(digest, 1)).toEqual(second)
      }))

    it('are not spoilt by what another run uploads under their digest', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const bytes = bytesOf(2 * blobPartBytes + 10)
        const digest = sha256(bytes)
        store.putBlobPart(digest, 2, bytes.length, bytesOf(10, 2), 'spoiler')
        store.putBlobPart(digest, 1, bytes.length, bytesOf(blobPartBytes, 2), 'spoiler')
        store.putBlobPart(digest, 0, blobPartBytes + 1, bytesOf(blobPartBytes, 2), 'another')
        for (const part of [0, 1, 2]) {
          const slice = bytes.subarray(part * blobPartBytes, (part + 1) * blobPartBytes)
          expect(store.putBlobPart(digest, part, bytes.length, slice, 'run')).toEqual({ complete: part === 2 })
        }
        expect(sha256(store.getBlob(digest) ?? new Uint8Array())).toBe(digest)
        expect(store.putBlobPart(digest, 0, bytes.length, bytesOf(blobPartBytes, 2), 'spoiler')).toEqual({
          complete: true,
        })
      }))

    it('stay while a run refers to them, and go a day after nothing does', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const kept = store.putBlob(new TextEncoder().encode('"kept"'))
        const left = store.putBlob(new TextEncoder().encode('"left"'))
        const run = begin(store, [{ id: 'a' }])
        applyAs(store, run, 1, [move('a', 'succeeded', { output: { blob: kept } }), end('succeeded')])
        clock.advance(86_000)
        store.sweep()
        expect(store.getBlob(left.sha256)).not.toBeNull()
        clock.advance(1000)
        store.sweep()
        expect(store.getBlob(left.sha256)).toBeNull()
        expect(store.snapshot(run)?.tasks[0]?.output).toBe('kept')
      }))

    it('hold a working memory that no row would', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }])
        const large = 'x'.repeat(700_000)
        applyAs(store, run, 1, [move('a', 'succeeded', { memory: { large, __proto__x: 1 } })])
        expect(store.snapshot(run)?.memory).toEqual({ large, __proto__x: 1 })
      }))
  })

  describe(`inbox, outbox and timers on ${engine.name}`, () => {
    const delivery = (id: string, comment: number | null, at: string, action = 'created') => ({
      delivery: id,
      event: 'issue_comment',
      action,
      comment,
      payload: { comment },
      receivedAt: at,
    })

    it('takes a delivery once, by its id and by its comment', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const at = clock.in(0)
        expect(store.addInbox(delivery('d1', 1, at))).toBe('new')
        expect(store.addInbox(delivery('d1', 1, at))).toBe('duplicate')
        expect(store.addInbox(delivery('d2', 1, at))).toBe('duplicate')
        expect(store.addInbox(delivery('d3', 1, at, 'edited'))).toBe('new')
        expect(store.addInbox(delivery('d4', null, at))).toBe('new')
        expect(store.addInbox(delivery('d5', null, at))).toBe('new')
        expect(store.dueInbox().map(row => row.delivery)).toEqual(['d1', 'd3', 'd4', 'd5'])
      }))

    it('retries a failed delivery at its time, or at once when it is sent again', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        store.addInbox(delivery('d1', 1, clock.in(0)))
        store.failInbox('d1', 'storage busy', clock.in(300))
        expect(store.dueInbox()).toEqual([])
        expect(store.nextDue()).toBe(clock.in(300))
        clock.advance(10)
        expect(store.addInbox(delivery('d1', 1, clock.in(0)))).toBe('duplicate')
        expect(store.dueInbox()).toMatchObject([{ delivery: 'd1', attempts: 1, lastError: 'storage busy' }])
        store.doneInbox('d1', 'vote')
        store.addInbox(delivery('d1', 1, clock.in(0)))
        expect(store.dueInbox()).toEqual([])
        expect(store.nextDue()).toBeNull()
      }))

    it('keeps outbox rows until they are done or dead', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        const row = { id: 'x', run: null, kind: 'reply', payload: { a: 1 } }
        expect(store.addOutbox(row)).toBe(true)
        expect(store.addOutbox({ ...row, payload: { a: 2 } })).toBe(false)
        store.failOutbox('x', '502', clock.in(60), { tried: 1 })
        expect(store.dueOutbox()).toEqual([])
        clock.advance(60)
        expect(store.dueOutbox()).toMatchObject([
          { id: 'x', attempts: 1, lastError: '502', payload: { a: 1, tried: 1 } },
        ])
        store.deferOutbox('x', clock.in(5))
        expect(store.outbox('x')).toMatchObject({ attempts: 1, dueAt: clock.in(5) })
        store.failOutbox('x', '410', null)
        expect(store.outboxRows({ state: 'dead' })).toHaveLength(1)
        expect(store.nextDue()).toBeNull()
        store.retryOutbox('x')
        expect(store.dueOutbox()).toMatchObject([{ id: 'x', attempts: 0 }])
        store.finishOutbox('x', { number: 5 })
        expect(store.outbox('x')).toMatchObject({ state: 'done', payload: { a: 1, tried: 1, number: 5 } })
        expect(refusal(() => store.retryOutbox('y'))).toBe('not_found')
      }))

    it('hands out signs to people before older work', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        for (const [id, kind] of [
          ['old', 'status'],
          ['sign', 'reaction'],
        ] as const)
          store.addOutbox({ id, run: null, kind, payload: {} })
        expect(store.dueOutbox().map(row => row.id)).toEqual(['sign', 'old'])
      }))

    it('is due at the least of inbox, outbox and expiry', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        beginPaused(store, [{ id: 'a' }], ['a'], clock.in(900))
        expect(store.nextDue()).toBe(clock.in(900))
        store.addOutbox({ id: 'x', run: null, kind: 'reply', payload: {}, dueAt: clock.in(600) })
        expect(store.nextDue()).toBe(clock.in(600))
        store.addInbox(delivery('d', null, clock.in(300)))
        expect(store.nextDue()).toBe(clock.in(300))
      }))

    it('uses a key once', () =>
      engine.withDisk(disk => {
        const { store, clock } = openStore(disk)
        expect(store.useOnce('jti-1', clock.in(600))).toBe(true)
        expect(store.useOnce('jti-1', clock.in(600))).toBe(false)
        expect(store.useOnce('jti-2', clock.in(600))).toBe(true)
      }))

    it('commits follow-ups with their control batch, or neither', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const run = begin(store, [{ id: 'a' }], { instance: instanceOf() })
        const row = { id: 'note', run, kind: 'reply', payload: {} }
        const note = { id: 'n1', type: 'note.add', subject: `run/${run}`, code: 'edited_comment', data: {} } as const
        const bad = { id: 'n2', type: 'pause.expire', pause: 'nowhere' } as const
        expect(refusal(() => store.control({ run, commands: [note, bad] }, 'system', [row]))).toBe('not_found')
        expect(store.outbox('note')).toBeNull()
        store.control({ run, commands: [note] }, 'system', [row])
        expect(store.outbox('note')).not.toBeNull()
      }))

    it('makes 5,000 tasks in one batch', () =>
      engine.withDisk(disk => {
        const { store } = openStore(disk)
        const tasks = Array.from({ length: 5000 }, (_, index) => ({
          id: `task-${index}`,
          needs: index === 0 ? [] : [`task-${index - 1}`],
        }))
        store.apply({ run: 'large', epoch: 1, commands: [create(tasks)] }, 'local:0', holder)
        const read = store.snapshot('large')?.tasks.map(({ task, needs }) => ({ id: task, needs }))
        expect(read).toEqual(tasks)
      }))
  })
}
