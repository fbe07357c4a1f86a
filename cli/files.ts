import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { documentLimits } from '../policy/document/limits.ts'
import type { Context, Finding } from './command.ts'
import { CliError, FindingsError, finding } from './failure.ts'

/** The one limit of every file that a command reads, in bytes. */
export const fileLimitBytes = documentLimits.bytes

/** Canonical workspace directory. Throws CliError, exit 2. */
export function workspaceOf({ directory, options }: Pick<Context, 'directory' | 'options'>): string {
  const named = resolve(directory, options.workspace)
  const real = realOf(named, `workspace ${options.workspace}`)
  if (!isDirectory(real))
    throw new CliError('unreadable_file', `workspace ${options.workspace} is not a directory`, {
      help: 'name a directory with --workspace',
      file: options.workspace,
    })
  return real
}

/** Ledger file of this command, absolute. */
export function ledgerFileOf({ directory, options }: Pick<Context, 'directory' | 'options'>): string {
  return resolve(directory, options.db)
}

/** Canonical path; `name` is how messages call it. Throws CliError, exit 2. */
export function realOf(path: string, name: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    throw unreadable(name, `cannot be read (${codeOf(error)})`)
  }
}

/** `path` below `directory`, `/`-separated, `.` for itself; null where it lies elsewhere. */
export function below(directory: string, path: string): string | null {
  const inside = relative(directory, path)
  if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return null
  return inside === '' ? '.' : inside.split(sep).join('/')
}

/**
 * Text of a regular file of at most 1 MiB. Of a longer document only so much is read that parsing sees it as too long.
 * Throws CliError (exit 2) where it cannot be read, FindingsError at the first byte that is not UTF-8.
 */
export function readText(path: string, name: string): string {
  const { bytes, size } = readStart(path, name)
  if (size <= fileLimitBytes && !isUtf8(bytes)) throw new FindingsError([notUtf8(bytes, name)])
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

/** As `readText`, for files that are no documents: a longer one is refused here. */
export function readWhole(path: string, name: string): string {
  const text = readText(path, name)
  if (Buffer.byteLength(text) > fileLimitBytes)
    throw new CliError('unreadable_file', `${name} is larger than ${fileLimitBytes} bytes`, { file: name })
  return text
}

/** Opens a regular file for reading; the caller closes the descriptor. Throws CliError, exit 2. */
export function openRegular(path: string, name: string): number {
  let descriptor: number
  try {
    // A FIFO must not keep the command waiting: it is refused below.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    throw unreadable(name, codeOf(error) === 'ENOENT' ? 'does not exist' : `cannot be read (${codeOf(error)})`)
  }
  const stat = fstatSync(descriptor)
  if (stat.isFile()) return descriptor
  closeSync(descriptor)
  throw unreadable(name, stat.isDirectory() ? 'is a directory' : 'is not a regular file')
}

function readStart(path: string, name: string): { bytes: Buffer; size: number } {
  const descriptor = openRegular(path, name)
  try {
    const stat = fstatSync(descriptor)
    const bytes = Buffer.alloc(fileLimitBytes + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(descriptor, bytes, length, bytes.length - length, null)
    return { bytes: bytes.subarray(0, length), size: Math.max(length, stat.size) }
  } catch (error) {
    throw error instanceof CliError ? error : unreadable(name, `cannot be read (${codeOf(error)})`)
  } finally {
    closeSync(descriptor)
  }
}

/** The place of the first byte that is not UTF-8. A line end is never part of a longer character. */
function notUtf8(bytes: Buffer, file: string): Finding {
  const isWide =
    bytes.subarray(0, 2).equals(Buffer.from([0xff, 0xfe])) || bytes.subarray(0, 2).equals(Buffer.from([0xfe, 0xff]))
  let line = 1
  let start = 0
  for (let end = bytes.indexOf(10); end !== -1 && isUtf8(bytes.subarray(start, end)); end = bytes.indexOf(10, start)) {
    start = end + 1
    line += 1
  }
  const until = bytes.indexOf(10, start)
  const text = new TextDecoder().decode(bytes.subarray(start, until === -1 ? bytes.length : until))
  return finding('yaml_syntax', isWide ? 'the file is UTF-16' : 'the file is not UTF-8', {
    file,
    line,
    column: text.indexOf('\ufffd') + 1,
    help: 'save the file as UTF-8 without a byte order mark',
  })
}

/** Exit 2. */
export function unreadable(name: string, why: string): CliError {
  return new CliError('unreadable_file', `${name} ${why}`, { help: 'check the path and the file', file: name })
}

function isDirectory(path: string): boolean {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return fstatSync(descriptor).isDirectory()
  } finally {
    closeSync(descriptor)
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
