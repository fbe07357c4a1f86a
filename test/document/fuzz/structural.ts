import { parse, stringify } from 'yaml'
import { workflowJsonSchema } from '../../../policy/document/index.ts'
import type { Json } from '../../../policy/json.ts'
import { type Pick, picker } from './random.ts'

type Node = Json | Node[] | { [key: string]: Node }

const values: readonly Node[] = [
  ...[null, true, false, 0, -1, 1.5, 64, 65, 1_000_000, 9_007_199_254_740_991, '', ' ', '.', '..', '/', 'a', 'A b'],
  ...['__proto__', 'constructor', 'toString', 'x'.repeat(5_000), '\u0000', '\ud800', '💥', '~', 'null', '1', '=', '<<'],
  ...[
    '${{ inputs.version }}',
    '${{ tasks.a.output }}',
    '${{ tasks.a.output.items }}',
    '${{ vars.item }}',
    '${{ memory.k }}',
  ],
  ...[
    '${{ inputs.version == "1" }}',
    '${{ not inputs.x }}',
    '${{',
    '}}',
    '${{ }}',
    '${{ tasks. }}',
    '${{ inputs.__proto__ }}',
  ],
  ...['action:write', 'action:none', 'workflow:flow', 'workflow:none', 'router', 'agent:a', 'action:', ':', 'mcp:a/b'],
  ...[
    'pure',
    'at_most_once',
    'builtin.shell.exec',
    'extension.process',
    'builtin.memory.write',
    'container',
    'cell',
    'always',
  ],
  [],
  {},
  [[]],
  { a: [{}] },
  { $ref: '#' },
  { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { anyOf: [{ $ref: '#/$defs/a' }] } } },
  { type: 'object', properties: { a: { pattern: '^(a+)+$' } }, patternProperties: { '(?=x)': true } },
  { pattern: '(a|a)*b{1,1000}', maxLength: -1, multipleOf: 0, enum: [], required: 'a' },
  { items: Array.from({ length: 300 }, (_, index) => index), as: 'item', maxItems: 256 },
  { axes: { a: Array.from({ length: 20 }, () => 'x'), b: Array.from({ length: 20 }, () => 'y') }, maxItems: 256 },
  { maxIterations: 64, while: 'vars.loopIndex < 3', initial: { a: 1 } },
  { select: '${{ inputs.version }}', cases: [{ equals: 1, tasks: ['a', 'b'] }], default: ['c'] },
  Array.from({ length: 70 }).reduce<Node>(below => [below], 'deep'),
]

const fields = fieldNames()

/** A document near to the given ones: parts of the tree left out, doubled, moved, renamed and replaced, in some style. */
export function mutateTree(trees: readonly Node[], pick: Pick): string {
  const tree = structuredClone(pick.one(trees) ?? null) as Node
  for (let change = pick.below(5) + 1; change > 0; change--) changeOne(tree, trees, pick)
  return rendered(tree, pick)
}

function changeOne(tree: Node, trees: readonly Node[], pick: Pick): void {
  const place = pick.one(placesOf(tree))
  if (place === undefined) return
  const { parent, key } = place
  const donor = pick.one(placesOf(pick.one(trees) ?? null))
  const given = donor === undefined ? null : (structuredClone(donor.value) as Node)
  if (Array.isArray(parent)) {
    const at = Number(key)
    const kind = pick.below(5)
    if (kind === 0) parent.splice(at, 1)
    else if (kind === 1) parent.splice(at, 0, structuredClone(parent[at] ?? null) as Node)
    else if (kind === 2) parent[at] = anyValue(pick)
    else if (kind === 3) parent[at] = given
    else parent.reverse()
    return
  }
  const kind = pick.below(6)
  const name = String(key)
  const value = parent[name] ?? null
  const other =
    (pick.below(8) === 0 ? pick.one(['__proto__', 'constructor', '', 'x-y', '<<', '1']) : pick.one(fields)) ?? ''
  if (kind === 0) delete parent[name]
  else if (kind === 1) put(parent, name, anyValue(pick))
  else if (kind === 2) put(parent, name, given)
  else if (kind === 3) put(parent, other, structuredClone(value) as Node)
  else if (kind === 4) put(parent, other, anyValue(pick))
  else {
    delete parent[name]
    put(parent, other, value)
  }
}

/** Never the same object twice: a tree has no circles. */
function anyValue(pick: Pick): Node {
  return structuredClone(pick.one(values) ?? null) as Node
}

/** As an own member whatever its name. */
function put(parent: { [key: string]: Node }, name: string, value: Node): void {
  Object.defineProperty(parent, name, { value, enumerable: true, configurable: true, writable: true })
}

interface Place {
  parent: Node[] | { [key: string]: Node }
  key: string | number
  value: Node
}

function placesOf(node: Node): Place[] {
  const places: Place[] = []
  const visit = (parent: Node, depth: number): void => {
    if (typeof parent !== 'object' || parent === null || depth > 80) return
    for (const [key, value] of Object.entries(parent)) {
      places.push({ parent: parent as Place['parent'], key, value })
      visit(value, depth + 1)
    }
  }
  visit(node, 0)
  return places
}

function rendered(tree: Node, pick: Pick): string {
  try {
    switch (pick.below(4)) {
      case 0:
        return JSON.stringify(tree)
      case 1:
        return stringify(tree, { collectionStyle: 'flow', aliasDuplicateObjects: false })
      case 2:
        return stringify(tree, { blockQuote: 'folded', lineWidth: 20 + pick.below(80), indent: 1 + pick.below(8) })
      default:
        return `# a comment\n${stringify(tree, { defaultStringType: pick.below(2) === 0 ? 'QUOTE_DOUBLE' : 'PLAIN' })}`
    }
  } catch {
    // Some strings the library itself cannot write.
    return JSON.stringify(tree)
  }
}

/** Every field name of the language. */
function fieldNames(): string[] {
  const names = new Set<string>()
  const visit = (node: Json | undefined): void => {
    if (typeof node !== 'object' || node === null) return
    const { properties } = node as { properties?: Json }
    if (typeof properties === 'object' && properties !== null && !Array.isArray(properties))
      for (const name of Object.keys(properties)) names.add(name)
    for (const below of Object.values(node)) visit(below)
  }
  visit(workflowJsonSchema())
  return [...names]
}

/** Documents as trees; a text that is none is left out. */
export function treesOf(texts: readonly string[]): Node[] {
  return texts.flatMap(text => {
    try {
      return [parse(text, { merge: true, uniqueKeys: false, logLevel: 'silent' }) as Node]
    } catch {
      return []
    }
  })
}

/** The document of a seed number. */
export function documentOfSeed(trees: readonly Node[], seed: number): string {
  return mutateTree(trees, picker(seed))
}
