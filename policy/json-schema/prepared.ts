import { nearest } from '../document/schema/fields.ts'
import type { Json, JsonObject } from '../json.ts'
import { escaped } from './at.ts'
import { draft, keywords, refusedKeywords, type Shape } from './keywords.ts'
import { schemaLimits } from './limits.ts'
import { createPattern, type Pattern } from './pattern.ts'
import { type Reference, resolveReferences } from './references.ts'
import { isObject, shapeFault } from './shape.ts'
import type { SchemaProblem } from './types.ts'

/** A schema that was walked once: what it refers to and matches with is known. */
export interface Prepared {
  problems: SchemaProblem[]
  /** Schema with a `$ref` -> what that names. */
  targets: ReadonlyMap<JsonObject, Json>
  patterns: ReadonlyMap<string, Pattern>
  /** Whether it asks anywhere what other schemas have not looked at. */
  tracks: boolean
}

type Path = (string | number)[]
type Fault = Omit<SchemaProblem, 'path'>

/** Walks a schema; a fault does not end the walk. */
export function prepare(root: Json): Prepared {
  const walk = new Walk()
  walk.visit(root, [])
  const { targets, problems } = resolveReferences(walk.references, walk.places)
  for (const { path, message, help } of problems) walk.report(path, { message, help })
  return { problems: walk.problems, targets, patterns: walk.patterns, tracks: walk.tracks }
}

class Walk {
  readonly problems: SchemaProblem[] = []
  readonly patterns = new Map<string, Pattern>()
  readonly references: Reference[] = []
  /** Every schema by its JSON pointer, and by the name of its anchor. */
  readonly places = new Map<string, Json>()
  tracks = false
  #schemas = 0

  visit(schema: Json, path: Path): void {
    this.#schemas += 1
    if (this.#schemas > schemaLimits.schemas) {
      const message = `a schema holds at most ${schemaLimits.schemas} schemas`
      if (this.#schemas === schemaLimits.schemas + 1) this.report(path, { message, help: 'make it smaller' })
      return
    }
    this.places.set(path.map(escaped).join(''), schema)
    if (typeof schema === 'boolean') return
    if (!isObject(schema))
      this.report(path, { message: 'a schema is a map, true or false', help: 'write `true` where anything is right' })
    else if (path.length > schemaLimits.depth)
      this.report(path, { message: 'the schema is nested too deeply', help: 'move inner schemas to `$defs`' })
    else for (const [keyword, value] of Object.entries(schema)) this.#keyword(schema, keyword, value, path)
  }

  #keyword(schema: JsonObject, keyword: string, value: Json, path: Path): void {
    const place = [...path, keyword]
    const shape = keywords.get(keyword)
    const fault = shape === undefined ? unknownFault(keyword) : shapeFault(keyword, shape, value)
    if (fault !== null) this.report(place, fault)
    if (fault !== null || shape === undefined) return
    this.#special(schema, keyword, value, path)
    for (const [below, step] of subschemas(shape, value)) this.visit(below, [...place, ...step])
  }

  /** Keywords that mean something for the schema as a whole. */
  #special(schema: JsonObject, keyword: string, value: Json, path: Path): void {
    const place = [...path, keyword]
    if (keyword === '$schema' && value !== draft && value !== `${draft}#`)
      this.report(place, { message: 'schemas are of draft 2020-12', help: `write $schema: ${draft}, or leave it out` })
    if (keyword === '$id' && path.length > 0)
      this.report(place, { message: 'an inner `$id` would change what references mean', help: 'leave it out' })
    if (keyword === '$anchor' && typeof value === 'string') this.#anchor(value, schema, place)
    if (keyword === '$ref' && typeof value === 'string') this.references.push({ schema, to: value, path: place })
    if (keyword === 'pattern' && typeof value === 'string') this.#pattern(value, place)
    if (keyword === 'patternProperties' && isObject(value))
      for (const pattern of Object.keys(value)) this.#pattern(pattern, [...place, pattern])
    if (keyword === 'unevaluatedProperties' || keyword === 'unevaluatedItems') this.tracks = true
  }

  #anchor(name: string, schema: JsonObject, path: Path): void {
    const help = 'letters, digits, `-`, `.` and `_`, first a letter or `_`, each name once'
    if (/^[A-Za-z_][-A-Za-z0-9._]*$/.test(name) && !this.places.has(name)) this.places.set(name, schema)
    else this.report(path, { message: 'the anchor stands twice or is no name', help })
  }

  #pattern(source: string, path: Path): void {
    if (this.patterns.has(source)) return
    const pattern = createPattern(source)
    if ('problem' in pattern)
      this.report(path, { message: `the pattern ${pattern.problem}`, help: 'write a simpler one' })
    else this.patterns.set(source, pattern)
  }

  report(path: Path, fault: Fault): void {
    if (this.problems.length < schemaLimits.problems) this.problems.push({ path, ...fault })
  }
}

/** Unknown keywords are annotations, as the draft has it; what is run elsewhere, or mistyped, would silently check nothing. */
function unknownFault(keyword: string): Fault | null {
  const instead = refusedKeywords.get(keyword)
  if (instead !== undefined) return { message: `the keyword \`${keyword}\` is not run`, help: instead }
  const close = nearest(keyword, [...keywords.keys()])
  return close === null
    ? null
    : { message: `\`${keyword}\` is no keyword of JSON Schema`, help: `did you mean \`${close}\`?` }
}

function subschemas(shape: Shape, value: Json): [schema: Json, step: Path][] {
  if (shape === 'schema') return [[value, []]]
  if (shape === 'schemas' && Array.isArray(value)) return value.map((below, index) => [below, [index]])
  if ((shape === 'schemaMap' || shape === 'patternMap') && isObject(value))
    return Object.entries(value).map(([name, below]) => [below, [name]])
  return []
}
