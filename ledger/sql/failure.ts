import { LedgerError, type LedgerErrorCode } from '../port.ts'

/** SQLite's primary result codes that mean something to a person, each with the name it gets and what to do. */
const failures: { [code: number]: { name: string; code: LedgerErrorCode; remedy: string } } = {
  5: { name: 'SQLITE_BUSY', code: 'locked', remedy: 'Another process holds it; wait for that process or end it.' },
  6: { name: 'SQLITE_LOCKED', code: 'locked', remedy: 'Another process holds it; wait for that process or end it.' },
  8: { name: 'SQLITE_READONLY', code: 'read_only', remedy: 'Make the file and its directory writable for this user.' },
  10: {
    name: 'SQLITE_IOERR',
    code: 'unreachable',
    remedy: 'The disk under it failed; check the disk, then try again.',
  },
  11: { name: 'SQLITE_CORRUPT', code: 'corrupt', remedy: 'Keep the file, and restore a backup or an export.' },
  13: { name: 'SQLITE_FULL', code: 'full', remedy: 'Free space on its disk, then try again.' },
  14: { name: 'SQLITE_CANTOPEN', code: 'read_only', remedy: 'Its directory must exist and be writable for this user.' },
  26: { name: 'SQLITE_NOTADB', code: 'corrupt', remedy: 'The file is no SQLite database; name another file.' },
}

/** The LedgerError of a failed statement, or null where the failure is no fault of the storage. */
export function storageFailure(where: string, resultCode: number, cause: Error): LedgerError | null {
  const known = failures[resultCode & 0xff]
  if (known === undefined) return null
  return new LedgerError(known.code, `The ledger ${where} failed with ${known.name}. ${known.remedy}`, { cause })
}

/** Result code from an engine that only puts its name into the message, 0 where there is none. */
export function resultCodeOf(message: string): number {
  for (const [code, failure] of Object.entries(failures)) {
    if (message.includes(failure.name)) return Number(code)
  }
  return 0
}
