import type { Json, JsonObject } from '../../../json.ts'

/**
 * What editors show beside the fields of a JSON Schema, in the shape of what it describes: a text, or a map of fields
 * with the text of the whole under `''`, its default under `=`, and that of each entry of a list or map under `*`. Kept
 * out of the zod schemas: each description there costs every start some 20 us.
 */
export type Notes = string | { readonly [field: string]: Notes | Json }

/** Writes notes into a schema; throws where one names a field that is not there, so that none outlives its field. */
export function applyNotes(schema: JsonObject, notes: Notes): void {
  write(schema, schema, notes, '')
}

function write(root: JsonObject, node: JsonObject, notes: Notes | Json, path: string): void {
  if (typeof notes === 'string') {
    node['description'] = notes
    return
  }
  if (!isObject(notes)) throw new TypeError(`a note at ${path} is neither text nor map`)
  if (typeof notes[''] === 'string') node['description'] = notes['']
  if (notes['='] !== undefined) node['default'] = notes['=']
  for (const [field, note] of Object.entries(notes)) {
    if (field === '' || field === '=') continue
    const found = find(root, node, field)
    if (found.length === 0) throw new TypeError(`a note names ${path}.${field}, which the schema does not have`)
    for (const next of found) write(root, next, note, `${path}.${field}`)
  }
}

/** A field of a schema, through references and in each form of a union; `*` is any entry of a list or map. */
function find(root: JsonObject, node: JsonObject, field: string): JsonObject[] {
  const target = resolve(root, node)
  const { properties, items, additionalProperties, anyOf } = target
  const own = field === '*' ? (items ?? additionalProperties) : isObject(properties) ? properties[field] : undefined
  if (isObject(own)) return [own]
  return (Array.isArray(anyOf) ? anyOf : []).flatMap(form => (isObject(form) ? find(root, form, field) : []))
}

/** What a `$ref` into `$defs` stands for. */
export function resolve(root: JsonObject, node: JsonObject): JsonObject {
  const { $ref: reference, ...rest } = node
  if (typeof reference !== 'string') return node
  const name = reference.slice(reference.lastIndexOf('/') + 1)
  const definitions = root['$defs']
  const target = isObject(definitions) ? definitions[name] : undefined
  if (!isObject(target)) throw new TypeError(`nothing stands at ${reference} (beside ${Object.keys(rest).join(', ')})`)
  return resolve(root, target)
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
