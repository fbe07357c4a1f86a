import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerStore, openEmbedded, openNodeSql, systemClock, systemIds, verifyAudit } from '../../ledger/index.ts'
import { applyAs, create, holder, move } from './support/commands.ts'

let directory = ''
let file = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ledger-failures-'))
  file = join(directory, 'runtime.db')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const ports = { clock: systemClock, ids: systemIds }
const open = () => openEmbedded({ file, ...ports })

function failure(f: () => unknown): { code: string; message: string } {
  try {
    f()
    return { code: '', message: '' }
  } catch (error) {
    if (error instanceof Error && 'code' in error) return { code: String(error.code), message: error.message }
    throw error
  }
}

describe('a ledger that cannot be used', () => {
  it('is locked: says so after its time, and works once free', async () => {
    await open().close()
    const other = openNodeSql(file)
    const sql = openNodeSql(file, { timeoutMs: 50 })
    const store = new LedgerStore(sql, ports)
    const putting = () => store.putBlob(new Uint8Array([1]))
    const told = other.transaction(() => failure(putting))
    expect(told).toMatchObject({ code: 'locked' })
    expect(told.message).toContain(file)
    expect(failure(putting).code).toBe('')
    sql.close()
    other.close()
  })

  it('is full: refuses by name, keeps what was acknowledged, and goes on once there is space', async () => {
    // A real file system of one megabyte where we may mount one; SQLite's own bound on pages elsewhere. Both end in SQLITE_FULL.
    const isRoot = process.getuid?.() === 0
    const mount = join(directory, 'small')
    mkdirSync(mount)
    const isMounted = isRoot && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', mount]).status === 0
    try {
      const path = join(mount, 'runtime.db')
      const sql = openNodeSql(path, isMounted ? {} : { maxPages: 200 })
      const store = new LedgerStore(sql, ports)
      store.apply({ run: 'r', epoch: 1, commands: [create([{ id: 'a' }])] }, 'local:0', holder)
      let acknowledged = store.head('run/r')
      let told = { code: '', message: '' }
      for (let attempt = 0; attempt < 10_000 && told.code === ''; attempt += 1) {
        told = failure(() => {
          const note = {
            id: `n${attempt}`,
            type: 'note.add',
            subject: 'run/r',
            code: 'x',
            data: { text: 'x'.repeat(2000) },
          } as const
          acknowledged = store.control({ run: 'r', commands: [note] }, 'system').head
        })
      }
      expect(told.code).toBe('full')
      expect(told.message).toMatch(/SQLITE_FULL.*Free space/)
      expect(store.head('run/r')).toBe(acknowledged)
      sql.close()
      if (isMounted) execFileSync('mount', ['-o', 'remount,size=8m', mount])
      const again = openNodeSql(path)
      const reopened = new LedgerStore(again, ports)
      expect(reopened.head('run/r')).toBe(acknowledged)
      applyAs(reopened, 'r', 1, [move('a', 'running')])
      expect(await verifyAudit(reopened.exportLines(), reopened.head())).toMatchObject({ ok: true })
      again.close()
    } finally {
      if (isMounted) execFileSync('umount', [mount])
    }
  })

  it.each([
    ['a file', 0o755, 0o444],
    ['a directory', 0o555, 0o644],
    ['both', 0o555, 0o444],
  ])('is read-only, %s: says so', async (_, directoryMode, fileMode) => {
    await open().close()
    for (const leftover of ['-wal', '-shm']) rmSync(file + leftover, { force: true })
    chmodSync(file, fileMode)
    chmodSync(directory, directoryMode)
    // Root may write anywhere: a process that gives its rights up tries instead, once it has read the code.
    const script = `
      const { openEmbedded, systemClock, systemIds } = await import(${JSON.stringify(join(import.meta.dirname, '../../ledger/index.ts'))})
      if (process.getuid() === 0) { process.setgroups([]); process.setgid(65534); process.setuid(65534) }
      try {
        const ledger = openEmbedded({ file: ${JSON.stringify(file)}, clock: systemClock, ids: systemIds })
        await ledger.putBlob(new Uint8Array([1]))
      } catch (error) {
        console.log(error.code, error.message)
      }`
    const isRoot = process.getuid?.() === 0
    if (isRoot && directoryMode === 0o755) chownSync(directory, 65534, 65534)
    const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
    chmodSync(directory, 0o755)
    expect(ran.stdout + ran.stderr).toMatch(/^read_only .*writable/)
  })

  it('has a directory that is none: says so', () => {
    writeFileSync(join(directory, 'blocker'), '')
    expect(failure(() => openEmbedded({ file: join(directory, 'blocker', 'runtime.db'), ...ports })).code).toBe(
      'read_only',
    )
  })

  it.runIf(process.platform === 'linux')(
    'lies where no directory can be made: says so, and does not try for ever',
    () => {
      expect(failure(() => openEmbedded({ file: '/proc/agentctl/below/runtime.db', ...ports })).code).toBe('read_only')
    },
  )

  it.each([
    ['text', () => writeFileSync(file, 'not a database, but long enough to be looked at as one by anybody')],
    ['another database', () => otherDatabase('CREATE TABLE runs (id TEXT)')],
    ['a meta table of something else', () => otherDatabase('CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)')],
  ])('holds %s: is refused and left alone', (_, write) => {
    write()
    const before = readFileSync(file)
    expect(failure(open).code).toBe('corrupt')
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  it('is damaged inside: says so instead of answering', async () => {
    const ledger = open()
    ledger.store.apply({ run: 'r', epoch: 1, commands: [create([{ id: 'a' }])] }, 'local:0', holder)
    for (let blob = 0; blob < 50; blob += 1) ledger.store.putBlob(new Uint8Array(8000).fill(blob))
    await ledger.close()
    const bytes = readFileSync(file)
    // All but the first page and the schema's own: the file opens, its content is gone.
    bytes.fill(0xaa, 4096 * 12)
    writeFileSync(file, bytes)
    const told = failure(() => {
      const damaged = open()
      try {
        damaged.store.snapshot('r')
        for (const _ of damaged.store.exportLedger());
      } finally {
        damaged.store.ledger
      }
    })
    expect(told.code).toBe('corrupt')
    expect(told.message).toMatch(/restore|Restore/)
  })

  it('was written by a later version: is refused by name, untouched', async () => {
    await open().close()
    const sql = openNodeSql(file)
    sql.run("UPDATE meta SET value = '99' WHERE key = 'version'")
    sql.close()
    const told = failure(open)
    expect(told.code).toBe('newer')
    expect(told.message).toContain('99')
    const after = openNodeSql(file)
    expect(after.all("SELECT value FROM meta WHERE key = 'version'")).toEqual([['99']])
    after.close()
  })

  it('belongs to another repository: is refused', async () => {
    const sql = openNodeSql(file)
    new LedgerStore(sql, { ...ports, ledger: '42' })
    expect(failure(() => new LedgerStore(sql, { ...ports, ledger: '43' })).code).toBe('conflict')
    sql.close()
  })
})

function otherDatabase(statement: string): void {
  const sql = openNodeSql(file)
  sql.run(statement)
  sql.close()
}
