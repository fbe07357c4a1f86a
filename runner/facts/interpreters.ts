import { accessSync, closeSync, constants, statSync } from 'node:fs'
import path from 'node:path'
import { CommandFault } from './command-fault.ts'
import { digestOf } from './digest-cache.ts'
import { openProgram } from './open-real.ts'
import { passedPaths } from './passed-paths.ts'
import { readShebang, type Shebang } from './shebang.ts'

/** One program that runs a script. The system opens it by its path: it is bound and compared, not pinned. */
export interface Interpreter {
  /** Real path. */
  path: string
  sha256: string
  /** Places through which it, or what is found in its stead, could be replaced. Absolute. */
  passed: string[]
}

/** Linux loads a script's interpreter's interpreter, but no deeper than this. */
const depthMax = 5

/**
 * The interpreter that a script names, that interpreter's own where it is a script too, and so on to a binary; behind `env`
 * also the program that it will find. Throws CommandFault: bad_interpreter.
 */
export function interpretersOf(
  shebang: Shebang,
  script: string,
  command: string,
  childPath: string | undefined,
  depth = 1,
): Interpreter[] {
  const { interpreter } = shebang
  if (depth > depthMax) throw new CommandFault('bad_interpreter', `${interpreter} is a script of too many scripts`)
  if (!isProgram(interpreter))
    throw new CommandFault(
      'bad_interpreter',
      `${script} names the interpreter ${JSON.stringify(interpreter)}, which cannot be run`,
    )
  const first = load(interpreter, [], command, childPath, depth)
  if (!isEnv(first)) return first
  const found = foundByEnv(shebang, script, childPath)
  return [...first, ...found.flatMap(({ place, before }) => load(place, before, command, childPath, depth))]
}

function load(
  place: string,
  before: readonly string[],
  command: string,
  childPath: string | undefined,
  depth: number,
): Interpreter[] {
  const passed = passedPaths(place, command)
  const realPath = passed.at(-1) ?? place
  const fd = openProgram(realPath, command)
  try {
    const own: Interpreter = { path: realPath, sha256: digestOf(fd), passed: [...before, ...passed] }
    const next = readShebang(fd, realPath)
    return next === null ? [own] : [own, ...interpretersOf(next, realPath, command, childPath, depth + 1)]
  } finally {
    closeSync(fd)
  }
}

function isEnv([first]: readonly Interpreter[]): boolean {
  return first?.passed.some(place => path.basename(place) === 'env') ?? false
}

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
    new CommandFault('bad_interpreter', `${script} is run through ${interpreter}, ${why}; ${remedy}`)
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

function isProgram(place: string): boolean {
  try {
    accessSync(place, constants.X_OK)
    return statSync(place).isFile()
  } catch {
    return false
  }
}
