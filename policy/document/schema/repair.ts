import type { Json } from '../../json.ts'
import { locate } from '../yaml/places.ts'
import type { Path, YamlTree } from '../yaml/tree.ts'
import { type Issue, pathOf, valueAt } from './issues.ts'

/** A copy in which nothing is shared, so that one place can change without another that came from the same anchor. */
function unshared(root: Json): Json {
  return JSON.parse(JSON.stringify(root)) as Json
}

/** Puts a value, or nothing, at a path of an unshared value; a path that leads nowhere changes nothing. */
function put(root: Json, path: Path, value: Json | undefined): void {
  const parent = valueAt(root, path.slice(0, -1))
  const step = path.at(-1)
  if (typeof parent !== 'object' || parent === null || step === undefined) return
  if (Array.isArray(parent)) {
    if (typeof step === 'number' && value !== undefined) parent[step] = value
  } else if (value === undefined) delete parent[step]
  else parent[step] = value
}

/** In a list of strings a bare scalar is its source text: `[true]` is the program `true`, not a truth value. */
export function readBareScalars(tree: YamlTree, root: Json, issues: readonly Issue[]): Json {
  let repaired: Json | null = null
  for (const issue of issues) {
    const path = pathOf(issue)
    if (issue.code !== 'invalid_type' || issue.expected !== 'string' || typeof path.at(-1) !== 'number') continue
    const { source } = locate(tree, path)
    if (source === null || source === '') continue
    repaired ??= unshared(root)
    put(repaired, path, source)
  }
  return repaired ?? root
}

/** What was left out of a faulty document, as paths: a name that is lost is not also missing. */
export type Lost = ReadonlySet<string>

const namedParts = ['actions', 'agents', 'providers', 'tools', 'subworkflows', 'mcpServers', 'a2aPeers']

/**
 * Leaves out what the issues name, in the largest part that stands for itself: an unknown key, a task's field, a named
 * definition, a field of `spec`. Indexes stay, so that places and paths stay.
 */
export function leaveOut(root: Json, issues: readonly Issue[]): { value: Json; lost: Lost } {
  const lost = new Set<string>()
  const value = unshared(root)
  const drop = (path: Path): void => {
    put(value, path, undefined)
    lost.add(path.slice(1).join('.'))
  }
  for (const issue of issues) {
    const path = pathOf(issue)
    const [top, part, entry, field] = path
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) put(value, [...path, key], undefined)
    } else if (top !== 'spec') {
      put(value, ['metadata'], { name: 'faulty' })
    } else if (part === 'tasks' && typeof entry === 'number') {
      if (field === undefined || field === 'id' || field === 'uses') {
        const id = valueAt(value, ['spec', 'tasks', entry, 'id'])
        const usable = typeof id === 'string' && /^[A-Za-z0-9_][A-Za-z0-9_-]{0,199}$/.test(id)
        put(value, ['spec', 'tasks', entry], { id: usable ? id : `faulty--${entry}`, uses: 'action:faulty' })
      } else drop(['spec', 'tasks', entry, field])
      lost.add(`tasks.${entry}`)
    } else if (part !== undefined && namedParts.includes(String(part)) && entry !== undefined) {
      drop(['spec', part, entry])
    } else if (part !== undefined) drop(['spec', part])
  }
  return { value, lost }
}
