import type { Sql } from '../../../ledger/index.ts'

/** One durable storage: `open` connects to it anew, as after a restart. */
export interface Disk {
  open(): Sql
}

/** An engine of the SQL contract, as the shared suites use it: a fresh disk for each test. */
export interface Engine {
  name: string
  withDisk(body: (disk: Disk) => void | Promise<void>): Promise<void>
}
