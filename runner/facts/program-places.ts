import { realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import type { PassedPlace } from '../../policy/decision/facts.ts'
import { isWithin } from './canonical-path.ts'
import { codeOf } from './unknown.ts'
import { type Workspace, writableRoots } from './workspace.ts'

/**
 * Tells of places that lead to a program whether somebody other than the machine's owner could have put it there: below a
 * writable root as declared or as it really is, in a temporary directory, or where others may write.
 */
export function trustJudge(
  workspace: Workspace,
  temporary: readonly string[],
): (places: readonly string[]) => PassedPlace[] {
  const roots = writableRoots(workspace).flatMap(({ lexical, real }) => (real === null ? [lexical] : [lexical, real]))
  const temporaries = ['/tmp', ...temporary].flatMap(directory => [path.resolve(directory), realOr(directory)])
  const open = new Map<string, boolean>()
  // The same places come up again for the digest and for the fact: judged once for both.
  const known = new Map<string, PassedPlace>()
  const judged = (place: string): PassedPlace => {
    const before = known.get(place)
    if (before !== undefined) return before
    const now = { path: place, untrusted: judge(place, roots, temporaries, open) }
    known.set(place, now)
    return now
  }
  return places => places.map(judged)
}

function judge(
  place: string,
  roots: readonly string[],
  temporaries: readonly string[],
  open: Map<string, boolean>,
): PassedPlace['untrusted'] {
  const places = [place, realOr(place)]
  const isBelow = (directories: readonly string[]) =>
    places.some(one => directories.some(directory => isWithin(directory, one)))
  if (isBelow(roots)) return 'writable_root'
  if (isBelow(temporaries)) return 'temporary'
  return places.some(one => upwards(one).some(step => othersMayWrite(step, open))) ? 'others_writable' : ''
}

/** The place itself, its directory, and so on up to the root. */
function upwards(place: string): string[] {
  const steps = [place]
  for (let current = place; path.dirname(current) !== current; ) {
    current = path.dirname(current)
    steps.push(current)
  }
  return steps
}

/**
 * By mode bits: access(2) would say yes to root for everything. What cannot be looked at counts as writable; what is not
 * there can only be made in a directory above it, which is judged by itself.
 */
function othersMayWrite(place: string, known: Map<string, boolean>): boolean {
  const before = known.get(place)
  if (before !== undefined) return before
  let mayWrite = true
  try {
    mayWrite = (statSync(place).mode & 0o002) !== 0
  } catch (error) {
    mayWrite = codeOf(error) !== 'ENOENT'
  }
  known.set(place, mayWrite)
  return mayWrite
}

/** The real path, also of what is not there yet in a directory that is. */
function realOr(place: string): string {
  for (let current = path.resolve(place), below = ''; ; ) {
    try {
      return path.join(realpathSync.native(current), below)
    } catch {
      const parent = path.dirname(current)
      if (parent === current) return path.resolve(place)
      below = path.join(path.basename(current), below)
      current = parent
    }
  }
}
