import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { type Floor, parseFloor } from '../policy/decision/index.ts'
import { CliError } from './failure.ts'

const hostFloorPath = '/etc/agentctl/floor.yaml'

/**
 * The floor that this machine's administrator installed, null where there is none. Throws CliError where it is there but
 * is not root's, or others may write it, or it cannot be read: such a floor is never taken for none.
 */
export function readHostFloor(path = hostFloorPath): Floor | null {
  const text = readRootOwned(path)
  if (text === null) return null
  const result = parseFloor(text, 'host')
  if (result.ok) return result.floor
  throw new CliError('invalid_floor', `${path}: ${result.message}`, { help: 'correct the SecurityFloor', file: path })
}

function readRootOwned(path: string): string | null {
  const refused = (why: string) =>
    new CliError('untrusted_host_floor', `${path} ${why}`, {
      help: `make it a regular file of root that nobody else may write: chown root:root ${path}; chmod 644 ${path}`,
      file: path,
    })
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw refused(`cannot be opened (${code})`)
  }
  try {
    const stat = fstatSync(descriptor)
    if (!stat.isFile()) throw refused('is not a regular file')
    if (stat.uid !== 0) throw refused(`belongs to uid ${stat.uid}, not to root`)
    if ((stat.mode & 0o022) !== 0) throw refused('may be written by others than root')
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}
