import { accessSync, closeSync, constants, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { namesIn } from './argv-files.ts'
import { CommandFault } from './command-fault.ts'
import type { ProgramDigest } from './digest-cache.ts'
import { loaderOf } from './elf.ts'
import { openProgram } from './open-real.ts'
import { passedPaths } from './passed-paths.ts'
import { readShebang, type Shebang } from './shebang.ts'

/** One file that is loaded to run a program. The system opens it by its path: it is bound and compared, not pinned. */
export interface Interpreter {
  /** Real path. */
  path: string
  sha256: string
  /** Places through which it, or what is found in its stead, could be replaced. Absolute. */
  passed: string[]
  /** A binary's dynamic loader: in a trusted place it is the system's own, as shared libraries are. */
  isLoader: boolean
}

/** What a command and its child are told by. */
export interface Loading {
  command: string
  /** Canonical. */
  cwd: string
  /** The child's own PATH, undefined where it gets none. */
  childPath: string | undefined
  digest: ProgramDigest
}

/** Linux loads a script's interpreter's interpreter, but no deeper than this. */
const depthMax = 5

/**
 * Of a binary its dynamic loader. Of a script the interpreter that it names, that interpreter's own where it is a script
 * too, and so on to a binary; behind `env` also the program that it will find; and the files that its line names beside.
 * Throws CommandFault: bad_interpreter.
 */
export function loadedBy(
  fd: number,
  realPath: string,
  shebang: Shebang | null,
  loading: Loading,
  depth = 1,
): Interpreter[] {
  if (shebang !== null) return interpretersOf(shebang, realPath, loading, depth)
  const loader = loaderOf(fd)
  if (loader === null) return []
  const passed = passedPaths(loader, loading.command)
  return [{ ...hashed(passed, loading), isLoader: true }]
}

function interpretersOf(shebang: Shebang, script: string, loading: Loading, depth: number): Interpreter[] {
  const { interpreter, argument } = shebang
  if (depth > depthMax) throw new CommandFault('bad_interpreter', `${interpreter} is a script of too many scripts`)
  if (!isProgram(interpreter))
    throw new CommandFault(
      'bad_interpreter',
      `${script} names the interpreter ${JSON.stringify(interpreter)}, which cannot be run`,
    )
  const first = load(interpreter, [], loading, depth)
  if (!isEnv(first)) return [...first, ...namedFiles(argument, loading)]
  const found = foundByEnv(shebang, script, loading.childPath)
  const programs = found.flatMap(({ place, before }) => load(place, before, loading, depth))
  return [...first, ...programs, ...namedFiles(argument.replace(envProgram, ''), loading)]
}

function load(place: string, before: readonly string[], loading: Loading, depth: number): Interpreter[] {
  const { command, digest } = loading
  const passed = passedPaths(place, command)
  const realPath = passed.at(-1) ?? place
  const fd = openProgram(realPath, command)
  try {
    const all = [...before, ...passed]
    const own: Interpreter = { path: realPath, sha256: digest(fd, all), passed: all, isLoader: false }
    return [own, ...loadedBy(fd, realPath, readShebang(fd, realPath), loading, depth + 1)]
  } finally {
    closeSync(fd)
  }
}

/** The files that a `#!` line hands to its interpreter, which may run them: in one argument, or split at its blanks. */
function namedFiles(argument: string, loading: Loading): Interpreter[] {
  const names = new Set([argument, ...argument.split(/[ \t]+/)].flatMap(namesIn))
  return [...names].flatMap(name => {
    const place = path.isAbsolute(name) ? name : `${loading.cwd}/${name}`
    if (!isFile(place)) return []
    // Behind a link `..` is not what the name says: such a place is judged as it is written and as it is.
    const isPlain = !place.split('/').includes('..')
    const passed = isPlain ? passedPaths(path.normalize(place), loading.command) : [place, realpathSync.native(place)]
    return [{ ...hashed(passed, loading), isLoader: false }]
  })
}

function hashed(passed: string[], { command, digest }: Loading): Omit<Interpreter, 'isLoader'> {
  const realPath = passed.at(-1) ?? ''
  const fd = openProgram(realPath, command)
  try {
    return { path: realPath, sha256: digest(fd, passed), passed }
  } finally {
    closeSync(fd)
  }
}

function isEnv([first]: readonly Interpreter[]): boolean {
  return first?.passed.some(place => path.basename(place) === 'env') ?? false
}

/** The name that stands in a line behind `env`, alone or behind `-S`. */
const envProgram = /^(?:-S[ \t]*)?[A-Za-z0-9][\w.+-]*/

/** Where the C libraries look without a PATH: glibc in the last two, musl in all. */
const libraryPath = ['/usr/local/bin', '/bin', '/usr/bin']

interface Found {
  place: string
  /** Places that come first: whoever can put a program there replaces this one. */
  before: string[]
}

/**
 * Where `env` will find the program of its line. Only a bare name can be told, alone or behind `-S`; options, variables
 * and quotes are refused, since what they come to is env's own business.
 */
function foundByEnv({ interpreter, argument }: Shebang, script: string, childPath: string | undefined): Found[] {
  const refuse = (why: string, remedy: string) =>
    new CommandFault('bad_interpreter', `${script} is run through ${interpreter}, ${why}`, remedy)
  const name = /^([A-Za-z0-9][\w.+-]*)$|^-S[ \t]*([A-Za-z0-9][\w.+-]*)(?:[ \t]|$)/.exec(argument)
  const program = name?.[1] ?? name?.[2]
  const absolute = 'name the interpreter by its absolute path in the #! line'
  if (program === undefined)
    throw refuse(`whose ${JSON.stringify(argument)} does not tell which program that is`, absolute)
  if (childPath === undefined) {
    // Which library env was built with cannot be told from here: each place that either looks in is bound.
    const places = libraryPath.map(directory => path.join(directory, program)).filter(isProgram)
    if (places.some(place => !place.startsWith('/usr/local/'))) return places.map(place => ({ place, before: [] }))
    throw refuse(
      `which without a PATH finds ${JSON.stringify(program)} in neither /bin nor /usr/bin`,
      `${absolute}, or give the action a PATH by env and allow it`,
    )
  }
  const before: string[] = []
  for (const directory of childPath.split(':')) {
    if (!path.isAbsolute(directory))
      throw refuse(
        `whose PATH has the entry ${JSON.stringify(directory)}, which is another directory in each working directory`,
        'give it a PATH of absolute directories',
      )
    const place = path.join(directory, program)
    if (isProgram(place)) return [{ place, before }]
    before.push(place)
  }
  throw refuse(`which finds ${JSON.stringify(program)} on no directory of the PATH that it gets`, absolute)
}

function isFile(place: string): boolean {
  try {
    return statSync(place).isFile()
  } catch {
    return false
  }
}

function isProgram(place: string): boolean {
  try {
    accessSync(place, constants.X_OK)
    return statSync(place).isFile()
  } catch {
    return false
  }
}
