import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar, type YAMLMap } from 'yaml'
import type { Json, JsonObject } from '../../json.ts'
import { documentLimits } from '../limits.ts'
import { placeAt } from './places.ts'
import type { YamlFault, YamlTree } from './tree.ts'

/**
 * The JSON value of a tree: aliases and merge keys expanded (by sharing, so a value is never changed in place), every
 * duplicate key, tag, non-scalar key, unsafe number and `__proto__` a fault. One walk, linear in the values that come
 * out, which are bounded. Null where even that could not be made.
 */
export function toValue(tree: YamlTree, faults: YamlFault[]): Json | undefined {
  if (tree.quick !== null) return tree.quick.value
  const root = tree.root()
  if (root === null) return null
  const walk: Walk = { tree, faults, anchors: new Map(), nodes: 0, height: 0 }
  try {
    return convert(walk, root, 1)
  } catch (error) {
    if (error instanceof Enough) return undefined
    throw error
  }
}

/** Thrown where going on would only cost time. */
class Enough extends Error {}

interface Walk {
  tree: YamlTree
  faults: YamlFault[]
  /** The latest definition of each name; undefined while it is being read. */
  anchors: Map<string, Anchor | undefined>
  /** Values so far, those behind aliases counted again. */
  nodes: number
  /** Levels of the value converted last. */
  height: number
}

interface Anchor {
  node: Node
  value: Json
  nodes: number
  height: number
}

function convert(walk: Walk, node: Node | null, depth: number): Json {
  if (depth > documentLimits.depth) {
    stop(walk, node, `the document is nested deeper than ${documentLimits.depth} levels`)
  }
  if (++walk.nodes > documentLimits.nodes) tooMany(walk, node)
  walk.height = 1
  if (node === null) return null
  if (isAlias(node)) return convertAlias(walk, node, depth)
  if (node.tag !== undefined) report(walk, node, `the tag ${node.tag} is not accepted`, 'remove the tag')

  const anchor = (node as { anchor?: string }).anchor
  if (anchor === undefined) return convertContent(walk, node, depth)
  walk.anchors.set(anchor, undefined)
  const before = walk.nodes
  const value = convertContent(walk, node, depth)
  walk.anchors.set(anchor, { node, value, nodes: walk.nodes - before, height: walk.height })
  return value
}

function convertContent(walk: Walk, node: Node, depth: number): Json {
  if (isScalar(node)) return convertScalar(walk, node)
  if (isMap(node)) return convertMap(walk, node, depth)
  if (!isSeq(node)) return null
  const items: Json[] = []
  let height = 0
  for (const item of node.items) {
    items.push(convert(walk, item as Node | null, depth + 1))
    if (walk.height > height) height = walk.height
  }
  walk.height = height + 1
  return items
}

function convertAlias(walk: Walk, alias: Alias, depth: number): Json {
  const anchor = walk.anchors.get(alias.source)
  if (anchor === undefined) {
    const cyclic = walk.anchors.has(alias.source)
    const message = cyclic
      ? `*${alias.source} stands inside its own anchor`
      : `no anchor &${alias.source} stands before *${alias.source}`
    report(walk, alias, message, cyclic ? 'a document is a tree' : 'define the anchor first')
    return null
  }
  walk.tree.targets.set(alias, anchor.node)
  walk.nodes += anchor.nodes
  if (walk.nodes > documentLimits.nodes) tooMany(walk, alias)
  if (depth + anchor.height - 1 > documentLimits.depth) {
    stop(walk, alias, `*${alias.source} nests the document deeper than ${documentLimits.depth} levels`)
  }
  walk.height = anchor.height
  return anchor.value
}

function convertScalar(walk: Walk, node: Scalar): Json {
  const { value } = node
  if (typeof value === 'string') {
    return wellFormed(walk, node, value)
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value))
      report(walk, node, `${node.source} is not a finite number`, `for the text write "${node.source}"`)
    else if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      report(
        walk,
        node,
        `${node.source} is beyond 2^53 - 1, so it would lose digits`,
        `for the text write "${node.source}"`,
      )
    }
    // Negative zero has no canonical form of its own.
    return value === 0 ? 0 : value
  }
  return typeof value === 'boolean' ? value : null
}

/** What cannot be digested is told, and goes on as what can, since a faulty document is checked to its end. */
function wellFormed(walk: Walk, node: Scalar, text: string): string {
  if (text.isWellFormed()) return text
  report(walk, node, 'the text is not well-formed Unicode', 'escape surrogates in pairs')
  return text.toWellFormed()
}

function convertMap(walk: Walk, node: YAMLMap, depth: number): JsonObject {
  const object: JsonObject = {}
  let merge: { node: Node | null; value: Json } | null = null
  let height = 0
  for (const pair of node.items as Pair<Node, Node | null>[]) {
    const key = keyOf(walk, pair.key)
    const value = convert(walk, pair.value, depth + 1)
    if (walk.height > height) height = walk.height
    if (key === undefined) continue

    const merges = isMergeKey(pair.key)
    if (merges ? merge !== null : Object.hasOwn(object, key)) {
      report(walk, pair.key, `duplicate key \`${key}\``, `it stands first at ${placeOfKey(walk, node, key)}`)
    } else if (merges) merge = { node: pair.value, value }
    else if (key === '__proto__') report(walk, pair.key, 'the key `__proto__` is not accepted', 'rename it')
    else object[key] = value
  }
  if (merge !== null) mergeInto(walk, merge, object)
  walk.height = height + 1
  return object
}

/** A key as text: what was written, so `1` and `"1"` are the same key; undefined where it is none. */
function keyOf(walk: Walk, node: Node | null): string | undefined {
  if (node !== null && (node as { tag?: string }).tag !== undefined)
    report(walk, node, 'a key has no tag', 'remove the tag')
  if (isScalar(node)) {
    const text = wellFormed(walk, node, keyText(node))
    if (node.anchor !== undefined) walk.anchors.set(node.anchor, { node, value: text, nodes: 1, height: 1 })
    if (text === '' && node.type === 'PLAIN') report(walk, node, 'a key is missing before `:`', 'write the key')
    else return text
    return undefined
  }
  report(walk, node, 'a key is a scalar', 'write a plain or quoted name before `:`')
  return undefined
}

/** What a scalar key is called: its source text where it is not quoted. */
export function keyText(key: Scalar): string {
  return key.type === 'PLAIN' ? (key.source ?? '') : String(key.value)
}

/** `<<`, unless quoted. */
export function isMergeKey(key: Node | null): boolean {
  return isScalar(key) && key.type === 'PLAIN' && key.source === '<<'
}

/** Adds what is not written: a written key wins over a merged one, an earlier source over a later one. */
function mergeInto(walk: Walk, merge: { node: Node | null; value: Json }, object: JsonObject): void {
  const sources = Array.isArray(merge.value) ? merge.value : [merge.value]
  for (const source of sources) {
    if (typeof source !== 'object' || source === null || Array.isArray(source)) {
      report(walk, merge.node, '`<<` merges maps', 'write `<<: *anchor` or `<<: [*one, *two]`')
      return
    }
    for (const [key, value] of Object.entries(source)) {
      if (!Object.hasOwn(object, key)) object[key] = value
    }
  }
}

function placeOfKey(walk: Walk, map: YAMLMap, key: string): string {
  const pair = (map.items as Pair<Node>[]).find(item => isScalar(item.key) && keyText(item.key) === key)
  const { line, column } = placeAt(walk.tree, pair?.key.range?.[0] ?? 0)
  return `${line}:${column}`
}

function report(walk: Walk, node: Node | null, message: string, help: string): void {
  walk.faults.push({ offset: node?.range?.[0] ?? 0, message, help })
  if (walk.faults.length >= documentLimits.faults) throw new Enough()
}

function tooMany(walk: Walk, node: Node | null): never {
  stop(walk, node, `the document has more than ${documentLimits.nodes} values, those behind aliases counted each time`)
}

function stop(walk: Walk, node: Node | null, message: string): never {
  walk.faults.push({ offset: node?.range?.[0] ?? 0, message, help: 'move data into files, or repeat less by aliases' })
  throw new Enough()
}
