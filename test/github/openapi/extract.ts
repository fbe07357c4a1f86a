import { operations, webhookPayloads } from './operations.ts'

/** JSON Schema as ajv reads it. */
export type Schema = { [keyword: string]: unknown }

export interface OperationDescription {
  /** Path and query parameters; a schema of each. */
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  /** null where the operation takes no body. */
  body: { required: boolean; schema: Schema } | null
  /** Status code to the JSON schema of its body, null for an empty body. */
  responses: { [status: string]: Schema | null }
}

export interface Description {
  operations: { [operation: string]: OperationDescription }
  webhooks: { [name: string]: Schema }
  $defs: { [name: string]: Schema }
}

type Node = { [key: string]: unknown }

/** Cuts GitHub's OpenAPI 3.0 document to our operations and webhooks and turns its schemas into JSON Schema. Pure. */
export function extract(whole: unknown): Description {
  const document = whole as Node
  const paths = document['paths'] as { [path: string]: { [method: string]: Node } }
  const webhooks = document['x-webhooks'] as { [name: string]: { post: Node } }
  const result: Description = { operations: {}, webhooks: {}, $defs: {} }

  const resolve = (node: Node): Node => {
    const ref = node['$ref']
    if (typeof ref !== 'string') return node
    let found: unknown = document
    for (const part of ref.slice(2).split('/')) found = (found as Node | undefined)?.[part]
    if (found === undefined) throw new Error(`GitHub's description has no ${ref}`)
    return resolve(found as Node)
  }
  const schemaOf = (node: Node): Schema => toJsonSchema(node, name => define(name))
  const define = (name: string): void => {
    if (name in result.$defs) return
    result.$defs[name] = {}
    const source = ((document['components'] as Node)['schemas'] as { [name: string]: Node })[name]
    if (!source) throw new Error(`GitHub's description has no schema ${name}`)
    result.$defs[name] = schemaOf(source)
  }
  const jsonContent = (node: Node): Node | null => {
    const content = node['content'] as { [type: string]: Node } | undefined
    const json =
      content?.['application/json'] ?? Object.entries(content ?? {}).find(([type]) => type.includes('json'))?.[1]
    return (json?.['schema'] as Node | undefined) ?? null
  }

  for (const operation of operations) {
    const [method = '', path = ''] = operation.split(' ')
    const source = paths[path]?.[method.toLowerCase()]
    if (!source) throw new Error(`GitHub's description has no ${operation}`)
    const body = source['requestBody'] === undefined ? null : resolve(source['requestBody'] as Node)
    const bodySchema = body && jsonContent(body)
    result.operations[operation] = {
      parameters: ((source['parameters'] as Node[] | undefined) ?? []).map(resolve).map(parameter => ({
        name: String(parameter['name']),
        in: String(parameter['in']),
        required: parameter['required'] === true,
        // Described as one date-time, but its own text says search syntax: `>=DATE`, `FROM..TO`.
        schema: parameter['name'] === 'created' ? { type: 'string' } : schemaOf(parameter['schema'] as Node),
      })),
      body: bodySchema ? { required: body['required'] === true, schema: schemaOf(bodySchema) } : null,
      responses: Object.fromEntries(
        Object.entries(source['responses'] as { [status: string]: Node }).map(([status, response]) => {
          const schema = jsonContent(resolve(response))
          return [status, schema && schemaOf(schema)]
        }),
      ),
    }
  }
  for (const name of webhookPayloads) {
    const source = webhooks[name]
    if (!source) throw new Error(`GitHub's description has no webhook ${name}`)
    const schema = jsonContent(resolve(source.post['requestBody'] as Node))
    if (schema) result.webhooks[name] = schemaOf(schema)
  }
  define('basic-error')
  define('validation-error')
  return result
}

const KEPT = new Set(
  (
    'type enum const format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems ' +
    'uniqueItems minProperties maxProperties required'
  ).split(' '),
)

function toJsonSchema(node: Node, define: (name: string) => void): Schema {
  const ref = node['$ref']
  if (typeof ref === 'string') {
    const name = ref.slice('#/components/schemas/'.length)
    define(name)
    return { $ref: `github#/$defs/${name}` }
  }
  const convert = (value: unknown): Schema => toJsonSchema(value as Node, define)
  const result: Schema = {}
  for (const [key, value] of Object.entries(node)) {
    if (KEPT.has(key)) result[key] = value
    else if (key === 'properties')
      result[key] = Object.fromEntries(Object.entries(value as Node).map(([name, schema]) => [name, convert(schema)]))
    else if (key === 'items' || key === 'not') result[key] = convert(value)
    else if (key === 'additionalProperties') result[key] = typeof value === 'object' ? convert(value) : value
    else if (key === 'allOf' || key === 'anyOf' || key === 'oneOf') {
      const parts = value as Node[]
      // GET /app/installations demands an account that is a user and an enterprise at once; everywhere else it is either.
      const slip =
        key === 'allOf' &&
        parts.some(part => part['title'] === 'Simple User') &&
        parts.some(part => part['title'] === 'Enterprise')
      result[slip ? 'anyOf' : key] = parts.map(convert)
    }
  }
  if (typeof result['format'] === 'string' && !['date-time', 'uri', 'email', 'date'].includes(result['format']))
    delete result['format']
  // OpenAPI 3.0's `nullable` is no JSON Schema keyword.
  if (node['nullable'] !== true) return result
  if (typeof result['type'] === 'string' && result['enum'] === undefined)
    return { ...result, type: [result['type'], 'null'] }
  return { anyOf: [{ type: 'null' }, result] }
}
