import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LedgerStore, openNodeSql, systemClock, systemIds } from '../../../ledger/index.ts'
import { create, holder } from '../support/commands.ts'

const perBatch = 500

/** Exports and verifies a long trail in a process whose heap could not hold it. */
export function longExportSuite(count: number): void {
  it(`exports and verifies ${count} events in the memory of a few pages`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'ledger-long-'))
    try {
      const file = join(directory, 'runtime.db')
      const head = fill(file, count)
      const index = JSON.stringify(join(import.meta.dirname, '../../../ledger/index.ts'))
      const script = `
        const { openEmbedded, systemClock, systemIds, verifyAudit } = await import(${index})
        const ledger = openEmbedded({ file: ${JSON.stringify(file)}, clock: systemClock, ids: systemIds })
        console.log(JSON.stringify(await verifyAudit(ledger.store.exportLines())))`
      const child = spawnSync(process.execPath, ['--max-old-space-size=32', '--input-type=module', '-e', script], {
        encoding: 'utf8',
      })
      expect(child.stderr).toBe('')
      expect(JSON.parse(child.stdout)).toEqual({ ok: true, events: count + 3, head })
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
}

/** Events of two KB each; answers the ledger's head. */
function fill(file: string, count: number): string {
  const sql = openNodeSql(file)
  const store = new LedgerStore(sql, { clock: systemClock, ids: systemIds })
  store.apply({ run: 'r', epoch: 1, commands: [create([])] }, 'local:0', holder)
  for (let batch = 0; batch < count / perBatch; batch += 1) {
    const commands = Array.from({ length: perBatch }, (_, note) => {
      const data = { note: `${note} `.repeat(500) }
      return { id: `${batch}-${note}`, type: 'note.add', subject: 'run/r', code: 'x', data } as const
    })
    store.control({ run: 'r', commands }, 'system')
  }
  const head = store.head()
  sql.close()
  return head
}
