import { lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { isWithin } from './canonical-path.ts'

/** What nothing may write whatever the roots say (02, Never writable). */
export interface Protection {
  /** Absolute places, folded, each with the rule's name; what lies below one is protected too. */
  places: { folded: string; rule: string }[]
  /** Folded workspace roots: a root may itself lie below a `.agentctl` directory, and is then writable all the same. */
  roots: string[]
}

/** Protected wherever they stand; two names are a directory and an entry of it. */
const names: { parts: string[]; rule: string }[] = [
  { parts: ['.git'], rule: '.git' },
  { parts: ['git~1'], rule: '.git' },
  { parts: ['.agentctl'], rule: '.agentctl' },
  { parts: ['.mcp.json'], rule: '.mcp.json' },
  { parts: ['.github', 'workflows'], rule: '.github/workflows' },
  { parts: ['.github', 'agentctl'], rule: '.github/agentctl' },
]

/** Entries that may be links: what they lead to is protected under its real name too. */
const linkable = [
  '.git',
  '.git/hooks',
  '.git/config',
  '.agentctl',
  '.mcp.json',
  '.github/workflows',
  '.github/agentctl',
]

/** Collects the protected places of a workspace: the given absolute paths, and where the well-known entries of each root really are. */
export function findProtected(roots: readonly string[], absolutePaths: readonly string[]): Protection {
  const places = new Map<string, string>()
  const add = (place: string, rule: string) => {
    places.set(fold(place), rule)
    const target = targetOf(place)
    if (target !== null) places.set(fold(target), rule)
  }
  for (const place of absolutePaths) add(place, 'protected_file')
  for (const root of roots)
    for (const entry of linkable) {
      const target = targetOf(path.join(root, entry))
      if (target !== null) places.set(fold(target), entry.startsWith('.git/') ? '.git' : entry)
      if (entry === '.git') for (const place of gitDirectories(path.join(root, entry))) add(place, '.git')
    }
  return { places: [...places].map(([folded, rule]) => ({ folded, rule })), roots: roots.map(fold) }
}

/** The rule that a path falls under, null where none. Give it both the path as requested and the canonical one. */
export function protectedBy(protection: Protection, absolute: string): string | null {
  const folded = fold(absolute)
  const parts = folded.split(path.sep)
  const inside = protection.roots.filter(root => isWithin(root, folded)).map(root => root.split(path.sep).length)
  const above = Math.max(0, ...inside)
  for (const { parts: wanted, rule } of names) {
    const first = rule === '.agentctl' ? above : 0
    if (parts.some((_, index) => index >= first && wanted.every((part, offset) => parts[index + offset] === part)))
      return rule
  }
  for (const { folded: place, rule } of protection.places) {
    if (isWithin(place, folded)) return rule
    if (['-wal', '-shm', '-journal'].some(suffix => folded === place + suffix)) return rule
  }
  return null
}

/**
 * One form for names that a file system may take for the same: compatibility forms, case, characters that are not shown,
 * and trailing dots and spaces (Windows, HFS+).
 */
export function fold(place: string): string {
  return place
    .split(path.sep)
    .map(part => (/^[\0-\x7f]*$/.test(part) ? part.toLowerCase() : foldUnicode(part)))
    .map(part => part.replace(/(?<=[^. ])[. ]+$/u, ''))
    .join(path.sep)
}

/** Changes nothing of plain ASCII but its case: then the tables that it needs are never loaded. */
function foldUnicode(part: string): string {
  return part
    .normalize('NFKD')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .normalize('NFKC')
}

/** Where a `.git` file (a worktree's or a submodule's) says the repository is. */
function gitDirectories(place: string): string[] {
  try {
    if (!statSync(place).isFile()) return []
    const target = /^gitdir: (.+)$/m.exec(readFileSync(place, 'utf8'))?.[1]
    return target === undefined ? [] : [path.resolve(path.dirname(place), target.trim())]
  } catch {
    return []
  }
}

/**
 * Where a path leads, also where nothing is there yet: a write below a dangling link's target would make the link whole.
 * Null where links go round in a circle.
 */
function targetOf(place: string, links = 40): string | null {
  if (links === 0) return null
  try {
    return realpathSync.native(place)
  } catch {
    const parent = path.dirname(place)
    if (parent === place) return place
    const inside = targetOf(parent, links)
    if (inside === null) return null
    const here = path.join(inside, path.basename(place))
    const link = linkAt(here)
    return link === null ? here : targetOf(path.resolve(inside, link), links - 1)
  }
}

function linkAt(place: string): string | null {
  try {
    return lstatSync(place).isSymbolicLink() ? readlinkSync(place) : null
  } catch {
    return null
  }
}
