import type { CST } from 'yaml'
import type { Json, JsonObject } from '../../json.ts'
import { documentLimits } from '../limits.ts'
import { quickBlock, quickPlain, quickQuoted } from './quick-scalar.ts'

/**
 * The value of a document that is written plainly: no anchors, aliases, tags, merge or complex keys, nothing doubtful.
 * Made from the parser's tokens without a syntax tree, which would take as long again as everything else; undefined for
 * anything that is not plainly right, which then goes the long way. What is accepted here has, the long way, the same
 * value and no fault: a property test holds the two together.
 */
export function quickValue(document: CST.Document): { value: Json } | undefined {
  const { value, start, end } = document
  if (value === undefined || !isBlank(start, true) || !isBlank(end ?? [], true)) return undefined
  const walk: Walk = { nodes: 0 }
  try {
    return { value: convert(walk, value, 1) }
  } catch (error) {
    if (error instanceof NotPlain) return undefined
    throw error
  }
}

/** Offsets of the items of the list at a path of keys; null where the tokens do not plainly show them. */
export function quickOffsets(document: CST.Document, path: readonly (string | number)[]): number[] | null {
  let token: CST.Token | undefined = document.value
  for (const step of path) {
    if (token?.type !== 'block-map' && token?.type !== 'flow-collection') return null
    token = (token.items as CST.CollectionItem[]).find(({ key }) => sourceOf(key) === step)?.value
  }
  if (token?.type !== 'block-seq' && token?.type !== 'flow-collection') return null
  const offsets: number[] = []
  for (const { value, key } of token.items as CST.CollectionItem[]) {
    // An item that is empty has a place too, which only the composer knows.
    if (value === undefined || (key !== undefined && key !== null)) return null
    offsets.push(value.offset)
  }
  return offsets
}

/** Thrown for whatever is better looked at by the composer. */
class NotPlain extends Error {}
const notPlain = new NotPlain()

interface Walk {
  nodes: number
}

function convert(walk: Walk, token: CST.Token | undefined | null, depth: number): Json {
  if (++walk.nodes > documentLimits.nodes || depth > documentLimits.depth) throw notPlain
  switch (token?.type) {
    case undefined:
      return null
    case 'scalar':
    case 'single-quoted-scalar':
    case 'double-quoted-scalar':
      if (token.end !== undefined && !isBlank(token.end, false)) throw notPlain
      return scalarOf(token)
    case 'block-scalar':
      return accepted(quickBlock(token))
    case 'block-map':
      return convertMap(walk, token, depth)
    case 'block-seq':
      return convertSequence(walk, token, depth)
    case 'flow-collection':
      return convertFlow(walk, token, depth)
    default:
      throw notPlain
  }
}

function scalarOf(token: CST.FlowScalar): Json {
  return accepted(token.type === 'scalar' ? quickPlain(token.source) : quickQuoted(token.source))
}

function accepted(value: Json | undefined): Json {
  if (value === undefined) throw notPlain
  return value
}

function convertMap(walk: Walk, map: CST.BlockMap, depth: number): JsonObject {
  const object: JsonObject = {}
  for (const item of map.items) {
    const { key, sep, value } = item
    if (sep === undefined && key === undefined && value === undefined && isBlank(item.start, true)) continue
    if (sep === undefined || key?.type === undefined || !isBlank(item.start, true)) throw notPlain
    if (!('indent' in key) || key.indent !== map.indent) throw notPlain
    const separator = separatorOf(sep)
    // `a: b: c`: a map cannot begin on the line of its key.
    if (value?.type === 'block-map' && separator !== 'line') throw notPlain
    put(object, keyOf(key), convert(walk, value, depth + 1))
  }
  return object
}

function convertSequence(walk: Walk, sequence: CST.BlockSequence, depth: number): Json[] {
  const items: Json[] = []
  for (const { start, value } of sequence.items) {
    const [dash, ...rest] = start
    // Newlines and comments may stand before the dash; then it is the last but the spaces behind it.
    const plain = dash?.type === 'seq-item-ind' ? isBlank(rest, false) : isBlankAround(start, 'seq-item-ind', true)
    if (plain) items.push(convert(walk, value, depth + 1))
    else if (value === undefined && isBlank(start, true)) continue
    else throw notPlain
  }
  return items
}

function convertFlow(walk: Walk, flow: CST.FlowCollection, depth: number): Json {
  const isMap = flow.start.source === '{'
  const [close, ...behind] = flow.end
  if (close?.source !== (isMap ? '}' : ']') || !isBlank(behind, false)) throw notPlain
  const object: JsonObject = {}
  const list: Json[] = []
  for (const [index, { start, key, sep, value }] of flow.items.entries()) {
    const isEmpty = key === undefined && sep === undefined && value === undefined
    // What stands before the closing bracket is an item of its own, with or without a comma.
    if (isEmpty && index === flow.items.length - 1 && isBlank(start, false)) continue
    if (index === 0 ? !isBlank(start, false) : !isBlankAround(start, 'comma', false)) throw notPlain
    if (isEmpty && index > 0 && index === flow.items.length - 1) continue
    if (value?.type === 'block-map' || value?.type === 'block-seq') throw notPlain
    if (!isMap) {
      if (key !== undefined || sep !== undefined || value === undefined) throw notPlain
      list.push(convert(walk, value, depth + 1))
    } else {
      if (key?.type === undefined || sep === undefined) throw notPlain
      separatorOf(sep)
      put(object, keyOf(key), convert(walk, value, depth + 1))
    }
  }
  return isMap ? object : list
}

function put(object: JsonObject, key: string, value: Json): void {
  if (key === '__proto__' || Object.hasOwn(object, key)) throw notPlain
  object[key] = value
}

function keyOf(key: CST.Token): string {
  const source = sourceOf(key)
  if (source === null || source === '<<' || ('end' in key && key.end !== undefined && key.end.length > 0))
    throw notPlain
  return source
}

/** A key as text; null for what is no short scalar on one line. */
function sourceOf(key: CST.Token | null | undefined): string | null {
  if (key === null || key === undefined || !('source' in key) || key.source.length > 1000) return null
  if (key.type === 'scalar') return key.source !== '' && quickPlain(key.source) !== undefined ? key.source : null
  if (key.type !== 'single-quoted-scalar' && key.type !== 'double-quoted-scalar') return null
  const text = quickQuoted(key.source)
  return typeof text === 'string' ? text : null
}

/** What stands between a key and its value: exactly one colon; whether the value begins on a line of its own. */
function separatorOf(sep: readonly CST.SourceToken[]): 'line' | 'same' {
  if (!isBlankAround(sep, 'map-value-ind', false)) throw notPlain
  return sep.some(token => token.type === 'newline') ? 'line' : 'same'
}

/** Whether there is nothing but spaces, line ends and comments set off from what is before them; no tabs. */
function isBlank(tokens: readonly CST.SourceToken[], startsLine: boolean): boolean {
  let spaced = startsLine
  for (const { type, source } of tokens) {
    if (type === 'space') {
      if (source.includes('\t')) return false
    } else if (type === 'comment' ? !spaced : type !== 'newline') return false
    spaced = type !== 'comment'
  }
  return true
}

/** The same around exactly one indicator. */
function isBlankAround(
  tokens: readonly CST.SourceToken[],
  indicator: CST.SourceToken['type'],
  startsLine: boolean,
): boolean {
  const at = tokens.findIndex(token => token.type === indicator)
  if (at < 0) return false
  return tokens.length === 1 || (isBlank(tokens.slice(0, at), startsLine) && isBlank(tokens.slice(at + 1), false))
}
