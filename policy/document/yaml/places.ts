import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml'
import { quickOffsets } from './quick.ts'
import type { Path, YamlTree } from './tree.ts'
import { isMergeKey, keyText } from './value.ts'

/** Line and column from 1, columns in UTF-16 code units. */
export interface Place {
  line: number
  column: number
}

/** Where a path leads. */
export interface Located {
  /** The value, the alias through which it is reached, or the deepest part of the path that exists. */
  place: Place
  /** Where the value itself stands, when it is reached through an alias. */
  anchor: Place | null
  /** Source text of a plain scalar, null for anything else. */
  source: string | null
}

/** The place of an offset. */
export function placeAt(tree: YamlTree, offset: number): Place {
  const { lineStarts } = tree
  if (lineStarts.length === 0) {
    lineStarts.push(0)
    for (let at = tree.text.indexOf('\n'); at >= 0; at = tree.text.indexOf('\n', at + 1)) lineStarts.push(at + 1)
  }
  let low = 0
  let high = lineStarts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((lineStarts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return { line: low + 1, column: offset - (lineStarts[low] ?? 0) + 1 }
}

/** Finds the value at a path, or its key where `on` is `key`. */
export function locate(tree: YamlTree, path: Path, on: 'value' | 'key' = 'value'): Located {
  const walk: Walk = { tree, alias: null }
  let found = tree.root()
  let node = follow(walk, found)
  for (const [index, step] of path.entries()) {
    const next = child(walk, node, step, on === 'key' && index === path.length - 1)
    if (next === null) break
    found = next
    node = follow(walk, next)
  }
  const source = isScalar(node) && node.type === 'PLAIN' ? (node.source ?? null) : null
  const own = placeAt(tree, found?.range?.[0] ?? 0)
  if (walk.alias === null) return { place: own, anchor: null, source }
  const target = isAlias(found) ? tree.targets.get(found) : found
  return { place: placeAt(tree, walk.alias), anchor: placeAt(tree, target?.range?.[0] ?? 0), source }
}

/** Places of the items of the list at a path, in order; empty where there is no list. */
export function placesOfItems(tree: YamlTree, path: Path): Place[] {
  const offsets = tree.quick === null ? null : quickOffsets(tree.quick.document, path)
  if (offsets !== null) return offsets.map(offset => placeAt(tree, offset))
  const walk: Walk = { tree, alias: null }
  let node = follow(walk, tree.root())
  for (const step of path) node = follow(walk, child(walk, node, step, false))
  return isSeq(node) ? node.items.map(item => placeAt(tree, (item as Node | null)?.range?.[0] ?? 0)) : []
}

interface Walk {
  tree: YamlTree
  /** Offset of the first alias on the way. */
  alias: number | null
}

/** What an alias stands for; any other node itself. */
function follow(walk: Walk, node: Node | null): Node | null {
  if (!isAlias(node)) return node
  walk.alias ??= node.range?.[0] ?? 0
  return walk.tree.targets.get(node) ?? null
}

function child(walk: Walk, node: Node | null, step: string | number, asKey: boolean): Node | null {
  if (typeof step === 'number') return isSeq(node) ? ((node.items[step] as Node | null | undefined) ?? null) : null
  if (!isMap(node)) return null
  const pair = pairOf(node, step)
  if (pair !== undefined) return asKey ? pair.key : (pair.value ?? pair.key)
  for (const item of node.items as Pair<Node, Node | null>[]) {
    if (!isMergeKey(item.key)) continue
    const merged = childOfMerge(walk, item.value, step, asKey)
    if (merged !== null) return merged
  }
  return null
}

function childOfMerge(walk: Walk, value: Node | null, step: string, asKey: boolean): Node | null {
  const sources = isSeq(value) ? (value.items as Node[]) : [value]
  for (const source of sources) {
    const before = walk.alias
    const found = child(walk, follow(walk, source), step, asKey)
    if (found !== null) return found
    walk.alias = before
  }
  return null
}

function pairOf(map: YAMLMap, key: string): Pair<Node, Node | null> | undefined {
  const pairs = map.items as Pair<Node, Node | null>[]
  return pairs.find(pair => isScalar(pair.key) && !isMergeKey(pair.key) && keyText(pair.key) === key)
}
