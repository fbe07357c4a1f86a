import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LedgerStore, openNodeSql, systemClock, systemIds, verifyAudit } from '../../ledger/index.ts'
import { schemaVersion } from '../../ledger/schema.ts'
import { actor, create, end, finish, holder, move, request, start } from './support/commands.ts'

const ports = { clock: systemClock, ids: systemIds }
const enforcement = { containment: 'cgroup', absent: [], left: [] }

function complete(store: LedgerStore, run: string, more: Parameters<typeof finish>[3]): void {
  const commands = [
    create([{ id: 'a' }]),
    move('a', 'running'),
    request(run, 'a', 'allow'),
    start(run, 'a'),
    finish(run, 'a', 'succeeded', more),
    move('a', 'succeeded'),
    end('succeeded'),
  ]
  store.apply({ run, epoch: 1, commands }, actor, holder)
}

it('a ledger of version 1 is brought to this version with all that it holds, and then keeps what held an effect', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-migration-'))
  const file = join(directory, 'runtime.db')
  try {
    const before = openNodeSql(file)
    complete(new LedgerStore(before, ports), 'old', {})
    before.run('ALTER TABLE effects DROP COLUMN enforcement')
    before.run('ALTER TABLE tasks DROP COLUMN compensates')
    before.run('DROP TABLE long_term')
    before.run('DROP TABLE host_floors')
    before.run("UPDATE meta SET value = '1' WHERE key = 'version'")
    before.close()

    const sql = openNodeSql(file)
    const store = new LedgerStore(sql, ports)
    expect(sql.all("SELECT value FROM meta WHERE key = 'version'")).toEqual([[String(schemaVersion)]])
    expect(store.effects('old')).toMatchObject([{ task: 'a', state: 'succeeded', enforcement: null }])
    complete(store, 'new', { enforcement })
    expect(store.effects('new')).toMatchObject([{ task: 'a', state: 'succeeded', enforcement }])
    const finished = store.events({ chain: 'run/new' }).items.find(({ type }) => type === 'effect.finished')
    expect(finished?.data).toMatchObject({ to: 'succeeded', enforcement })
    expect(await verifyAudit(store.exportLines())).toMatchObject({ ok: true })
    sql.close()
  } finally {
    rmSync(directory, { recursive: true })
  }
})
