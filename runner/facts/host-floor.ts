import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import type { HostFloorRecord } from '../../ledger/commands.ts'
import { type Floor, floorDigest, parseFloor } from '../../policy/decision/index.ts'

/** Where the administrator of a runner host installs its floor. */
export const hostFloorPath = '/etc/agentctl/floor.yaml'

/** The host's floor, that there is none, or why the one that is there cannot be trusted: such a floor is never none. */
export type InstalledFloor =
  | { state: 'installed'; floor: Floor }
  | { state: 'none' }
  | { state: 'refused'; code: 'untrusted_host_floor' | 'invalid_floor'; message: string; help: string }

/** Reads the host's floor, checked on the descriptor that is read: a regular file of root that nobody else may write. */
export function installedFloor(path: string): InstalledFloor {
  const read = readRootOwned(path)
  if (read === null) return { state: 'none' }
  if (typeof read !== 'string') {
    const help = `make it a regular file of root that nobody else may write: chown root:root ${path}; chmod 644 ${path}`
    return { state: 'refused', code: 'untrusted_host_floor', message: `${path} ${read.why}`, help }
  }
  const parsed = parseFloor(read, 'host')
  if (parsed.ok) return { state: 'installed', floor: parsed.floor }
  const message = `${path}: ${parsed.message}`
  return { state: 'refused', code: 'invalid_floor', message, help: 'correct the SecurityFloor' }
}

/** What the record of a run says of its host's floor. */
export function hostFloorRecord(floor: Floor | null, isReadable = true): HostFloorRecord {
  if (floor !== null) return { state: 'installed', digest: floorDigest(floor) }
  return { state: isReadable ? 'none' : 'not readable' }
}

function readRootOwned(path: string): string | null | { why: string } {
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : { why: `cannot be opened (${code})` }
  }
  try {
    const stat = fstatSync(descriptor)
    if (!stat.isFile()) return { why: 'is not a regular file' }
    if (stat.uid !== 0) return { why: `belongs to uid ${stat.uid}, not to root` }
    if ((stat.mode & 0o022) !== 0) return { why: 'may be written by others than root' }
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}
