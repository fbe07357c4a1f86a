import { closeSync, fstatSync, lstatSync, readlinkSync, readSync, statSync } from 'node:fs'
import path from 'node:path'
import { digestOf } from './digest-cache.ts'
import { closeDirectory, openDirectory, openFile } from './directory.ts'
import { codeOf } from './unknown.ts'

/** Where bare names are looked for, in this order, before the floor's `searchPath`; never the current directory. */
export const fixedSearchPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** A command that names nothing that can be run: a named, definite reason. */
export class CommandFault extends Error {
  override readonly name = 'CommandFault'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** An executable file held open: the file that was hashed is the file that runs. The caller closes `fd`. */
export interface Executable {
  /**
   * Paths that resolution passed through: the command, each link's target, the real file; of a script also those to its
   * interpreter, and so on to a binary. Absolute.
   */
  passed: string[]
  realPath: string
  sha256: string
  fd: number
  /** Interpreter of a `#!` script, null for a binary. */
  interpreter: string | null
}

/**
 * Finds and opens the file that a command means. Names without a slash are looked for on the search path; others start at
 * `cwd`. Throws CommandFault: command_not_found, command_is_directory, command_not_executable, bad_interpreter.
 */
export function openExecutable(command: string, cwd: string, searchPath: readonly string[]): Executable {
  if (command === '' || command.includes('\0'))
    throw new CommandFault('command_not_found', `command ${JSON.stringify(command)} names no file`)
  const place = command.includes('/') ? path.resolve(cwd, command) : search(command, searchPath)
  const passed = passedPaths(place, command)
  const realPath = passed.at(-1) ?? place
  const fd = openReal(realPath, command)
  try {
    const stat = fstatSync(fd)
    if (stat.isDirectory()) throw new CommandFault('command_is_directory', `${realPath} is a directory, not a program`)
    if (!stat.isFile() || (stat.mode & 0o111) === 0)
      throw new CommandFault('command_not_executable', `${realPath} is not executable; run chmod +x on it`)
    const interpreter = interpreterOf(fd, realPath)
    const behind = interpreter === null ? [] : interpreterPaths(interpreter, command)
    return { passed: [...new Set([...passed, ...behind])], realPath, sha256: digestOf(fd), fd, interpreter }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** Linux loads a script's interpreter's interpreter, but no deeper than this. */
const interpretersMax = 5

/** Every place through which a script's interpreter could be replaced. */
function interpreterPaths(interpreter: string, command: string, depth = 1): string[] {
  const passed = passedPaths(interpreter, command)
  const realPath = passed.at(-1) ?? interpreter
  if (depth > interpretersMax)
    throw new CommandFault('bad_interpreter', `${interpreter} is a script of too many scripts`)
  const fd = openReal(realPath, command)
  try {
    const next = interpreterOf(fd, realPath)
    return next === null ? passed : [...passed, ...interpreterPaths(next, command, depth + 1)]
  } finally {
    closeSync(fd)
  }
}

function search(name: string, searchPath: readonly string[]): string {
  for (const directory of [...fixedSearchPath, ...searchPath]) {
    const place = path.join(directory, name)
    try {
      const stat = statSync(place)
      if (stat.isFile() && (stat.mode & 0o111) !== 0) return place
    } catch {
      // Not here: the next directory may have it.
    }
  }
  const places = [...fixedSearchPath, ...searchPath].join(', ')
  throw new CommandFault(
    'command_not_found',
    `command ${JSON.stringify(name)} is in none of ${places}; write its path, or have the floor's searchPath name its directory`,
  )
}

/** Follows links by hand, so that every place through which the command could be redirected is known. */
function passedPaths(place: string, command: string): string[] {
  const passed = [place]
  let todo = place.split('/').filter(part => part !== '')
  let done = ''
  for (let links = 0; todo.length > 0; ) {
    const [part = '', ...rest] = todo
    todo = rest
    const next = `${done}/${part}`
    let target: string
    try {
      if (!lstatSync(next).isSymbolicLink()) {
        done = next
        continue
      }
      target = readlinkSync(next)
    } catch (error) {
      throw notFound(error, command, next)
    }
    links += 1
    if (links > 40) throw new CommandFault('command_not_found', `command ${JSON.stringify(command)}: too many links`)
    if (next !== place) passed.push(next)
    const resolved = path.resolve(done === '' ? '/' : done, target)
    todo = [...resolved.split('/').filter(name => name !== ''), ...todo]
    done = ''
    passed.push(path.join('/', ...todo))
  }
  return [...new Set([...passed, done])]
}

function openReal(realPath: string, command: string): number {
  try {
    const directory = openDirectory(path.dirname(realPath))
    try {
      return openFile(directory, path.basename(realPath))
    } finally {
      closeDirectory(directory)
    }
  } catch (error) {
    throw notFound(error, command, realPath)
  }
}

function notFound(error: unknown, command: string, place: string): CommandFault {
  const code = codeOf(error)
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new CommandFault('command_not_found', `command ${JSON.stringify(command)}: ${place} does not exist`)
  if (code === 'EACCES' || code === 'EPERM')
    return new CommandFault(
      'command_not_executable',
      `command ${JSON.stringify(command)}: ${place} may not be read, so it cannot be pinned by its digest`,
    )
  return new CommandFault(
    'command_not_found',
    `command ${JSON.stringify(command)}: ${place} could not be opened (${code})`,
  )
}

/**
 * `#!` scripts run by the interpreter that they name, which must exist. What is neither a script nor a binary is refused:
 * the C library would hand it to a shell.
 */
function interpreterOf(fd: number, realPath: string): string | null {
  const head = Buffer.alloc(256)
  const length = readSync(fd, head, 0, head.length, 0)
  if (head[0] !== 0x23 || head[1] !== 0x21) {
    const magic = head.toString('latin1', 0, Math.min(4, length))
    const binary = ['\x7fELF', '\xcf\xfa\xed\xfe', '\xca\xfe\xba\xbe'].includes(magic) || magic.startsWith('MZ')
    if (binary) return null
    throw new CommandFault(
      'command_not_executable',
      `${realPath} is neither a binary nor a script that begins with #!; no shell is tried`,
    )
  }
  const line = head.toString('utf8', 2, length).split('\n', 1)[0] ?? ''
  const interpreter = line.trim().split(/[ \t]/, 1)[0] ?? ''
  if (!path.isAbsolute(interpreter))
    throw new CommandFault(
      'bad_interpreter',
      `${realPath} names the interpreter ${JSON.stringify(interpreter)}, which is another file in each working directory; write its absolute path`,
    )
  try {
    const stat = statSync(interpreter)
    if (stat.isFile() && (stat.mode & 0o111) !== 0) return interpreter
  } catch {
    // Told below.
  }
  throw new CommandFault(
    'bad_interpreter',
    `${realPath} names the interpreter ${JSON.stringify(interpreter)}, which cannot be run`,
  )
}
