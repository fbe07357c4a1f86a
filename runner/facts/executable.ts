import { closeSync, fstatSync, statSync } from 'node:fs'
import path from 'node:path'
import { CommandFault } from './command-fault.ts'
import { digestOf, type ProgramDigest } from './digest-cache.ts'
import { type Interpreter, loadedBy } from './interpreters.ts'
import { openProgram } from './open-real.ts'
import { passedPaths } from './passed-paths.ts'
import { readShebang } from './shebang.ts'

export { CommandFault } from './command-fault.ts'

/** Where bare names are looked for, in this order, before the floor's `searchPath`; never the current directory. */
export const fixedSearchPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** An executable file held open: the file that was hashed is the file that runs. The caller closes `fd`. */
export interface Executable {
  /** Paths that resolution passed through: the command, each link's target, the real file. Absolute. */
  passed: string[]
  realPath: string
  sha256: string
  fd: number
  /** Interpreter that a `#!` script names, null for a binary. */
  interpreter: string | null
  /**
   * Everything that the system would load to run the file, outermost first: of a script what its `#!` line names, and
   * for a binary its dynamic loader.
   */
  interpreters: Interpreter[]
}

/**
 * Finds and opens the file that a command means. Names without a slash are looked for on the search path; others start at
 * `cwd`. `childPath` is the child's own PATH, undefined where it gets none: only an interpreter such as `env` looks there.
 * Throws CommandFault: command_not_found, command_is_directory, command_not_executable, bad_interpreter.
 */
export function openExecutable(
  command: string,
  cwd: string,
  searchPath: readonly string[],
  { childPath, digest = digestOf }: { childPath?: string | undefined; digest?: ProgramDigest } = {},
): Executable {
  if (command === '' || command.includes('\0') || command.endsWith('/'))
    throw new CommandFault('command_not_found', `command ${JSON.stringify(command)} names no file`, 'name a program')
  const place = command.includes('/') ? path.resolve(cwd, command) : search(command, searchPath)
  const passed = passedPaths(place, command)
  const realPath = passed.at(-1) ?? place
  const fd = openProgram(realPath, command)
  try {
    const stat = fstatSync(fd)
    if (stat.isDirectory()) throw new CommandFault('command_is_directory', `${realPath} is a directory, not a program`)
    if (!stat.isFile() || (stat.mode & 0o111) === 0)
      throw new CommandFault('command_not_executable', `${realPath} is not executable`, 'run chmod +x on it')
    const shebang = readShebang(fd, realPath)
    const interpreters = loadedBy(fd, realPath, shebang, { command, cwd, childPath, digest })
    return { passed, realPath, sha256: digest(fd, passed), fd, interpreter: shebang?.interpreter ?? null, interpreters }
  } catch (error) {
    closeSync(fd)
    throw error
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
    `command ${JSON.stringify(name)} is in none of ${places}`,
    "write its path, or have the floor's searchPath name its directory",
  )
}
