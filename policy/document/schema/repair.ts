import type { Json, JsonObject } from '../../json.ts'
import { locate } from '../yaml/places.ts'
import type { Path, YamlTree } from '../yaml/tree.ts'
import { type Issue, pathOf, valueAt } from './issues.ts'

/** A copy of `root` with another value at a path; what is not on the path is shared. */
export function withValue(root: Json, path: Path, value: Json | undefined): Json {
  const [step, ...rest] = path
  if (step === undefined) return value ?? null
  if (Array.isArray(root) && typeof step === 'number') {
    const copy = [...root]
    copy[step] = withValue(copy[step] ?? null, rest, value)
    return copy
  }
  if (typeof root !== 'object' || root === null || Array.isArray(root)) return root
  const copy: JsonObject = { ...root }
  if (rest.length === 0 && value === undefined) delete copy[step]
  else copy[step] = withValue(copy[step] ?? null, rest, value)
  return copy
}

/** In a list of strings a bare scalar is its source text: `[true]` is the program `true`, not a truth value. */
export function readBareScalars(tree: YamlTree, root: Json, issues: readonly Issue[]): Json {
  let repaired = root
  for (const issue of issues) {
    const path = pathOf(issue)
    if (issue.code !== 'invalid_type' || issue.expected !== 'string' || typeof path.at(-1) !== 'number') continue
    const { source } = locate(tree, path)
    if (source !== null && source !== '') repaired = withValue(repaired, path, source)
  }
  return repaired
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
  let value = root
  const drop = (path: Path): void => {
    value = withValue(value, path, undefined)
    lost.add(path.slice(1).join('.'))
  }
  for (const issue of issues) {
    const path = pathOf(issue)
    const [top, part, entry, field] = path
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) value = withValue(value, [...path, key], undefined)
    } else if (top !== 'spec') {
      value = withValue(value, ['metadata'], { name: 'faulty' })
    } else if (part === 'tasks' && typeof entry === 'number') {
      if (field === undefined || field === 'id' || field === 'uses') {
        const id = valueAt(value, ['spec', 'tasks', entry, 'id'])
        const usable = typeof id === 'string' && /^[A-Za-z0-9_][A-Za-z0-9_-]{0,199}$/.test(id)
        value = withValue(value, ['spec', 'tasks', entry], {
          id: usable ? id : `faulty--${entry}`,
          uses: 'action:faulty',
        })
      } else drop(['spec', 'tasks', entry, field])
      lost.add(`tasks.${entry}`)
    } else if (part !== undefined && namedParts.includes(String(part)) && entry !== undefined) {
      drop(['spec', part, entry])
    } else if (part !== undefined) drop(['spec', part])
  }
  return { value, lost }
}
