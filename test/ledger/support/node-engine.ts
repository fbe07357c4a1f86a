import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type NodeSql, openNodeSql } from '../../../ledger/index.ts'
import type { Engine } from './engine.ts'

// Thousands of commits: in memory where the system has such a file system. What a disk adds is for the process tests.
const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** node:sqlite on real files. */
export const nodeEngine: Engine = {
  name: 'node:sqlite',
  async withDisk(body) {
    const directory = mkdtempSync(join(parent, 'ledger-'))
    let current: NodeSql | null = null
    try {
      await body({
        open() {
          current?.close()
          current = openNodeSql(join(directory, 'ledger.sqlite'))
          return current
        },
      })
    } finally {
      ;(current as NodeSql | null)?.close()
      rmSync(directory, { recursive: true, force: true })
    }
  },
}
