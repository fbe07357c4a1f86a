import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { Description, Schema } from './extract.ts'
import { loadDescription } from './fetch.ts'

/** Something that GitHub would not send or not understand. */
export interface Violation {
  /** Operation (`GET /user`) or webhook (`issue_comment.created`). */
  where: string
  part: 'path' | 'query' | 'request body' | 'response status' | 'response body' | 'error body' | 'payload' | 'operation'
  message: string
}

let shared: Promise<Validator> | undefined

/** One validator a process: schemas compile on first use and stay. */
export const loadValidator = (): Promise<Validator> => {
  shared ??= loadDescription().then(description => new Validator(description))
  return shared
}

export class Validator {
  readonly #description: Description
  readonly #ajv: Ajv
  readonly #compiled = new Map<string, ValidateFunction>()

  constructor(description: Description) {
    this.#description = description
    // Query and path values arrive as text; `coerceTypes` is for those only, hence two instances.
    this.#ajv = new Ajv({ strict: false, logger: false, allErrors: false, validateFormats: true })
    addFormats.default(this.#ajv)
    this.#ajv.addSchema({ $id: 'github', $defs: description.$defs })
  }

  has(operation: string): boolean {
    return operation in this.#description.operations
  }

  request(
    operation: string,
    path: { [name: string]: string },
    query: { [name: string]: string },
    body: unknown,
  ): Violation[] {
    const described = this.#description.operations[operation]
    if (!described)
      return [{ where: operation, part: 'operation', message: 'is not among the operations that the double imitates' }]
    const violations: Violation[] = []
    const check = (part: 'path' | 'query', values: { [name: string]: string }) => {
      const known = described.parameters.filter(parameter => parameter.in === part)
      for (const [name, text] of Object.entries(values)) {
        const parameter = known.find(p => p.name === name)
        if (!parameter) violations.push({ where: operation, part, message: `parameter ${name} is unknown to GitHub` })
        else {
          const message = this.#check(
            `${operation} ${part} ${name}`,
            parameter.schema,
            fromText(text, parameter.schema, this.#description),
          )
          if (message) violations.push({ where: operation, part, message: `${name}=${text}: ${message}` })
        }
      }
      for (const { name, required } of known) {
        if (required && !(name in values))
          violations.push({ where: operation, part, message: `parameter ${name} is missing` })
      }
    }
    check('path', path)
    check('query', query)
    if (described.body && (body !== undefined || described.body.required)) {
      const message =
        body === undefined ? 'is missing' : this.#check(`${operation} body`, closed(described.body.schema), body)
      if (message) violations.push({ where: operation, part: 'request body', message })
    } else if (body !== undefined && !described.body && !isEmpty(body)) {
      violations.push({ where: operation, part: 'request body', message: 'GitHub takes none here' })
    }
    return violations
  }

  response(operation: string, status: number, body: unknown): Violation[] {
    const described = this.#description.operations[operation]
    if (!described) return []
    if (status >= 400) return this.error(operation, body)
    if (status === 304) return []
    const schema = described.responses[String(status)]
    if (schema === undefined)
      return [{ where: operation, part: 'response status', message: `${status} is not among GitHub's` }]
    if (schema === null) {
      return body === undefined
        ? []
        : [{ where: operation, part: 'response body', message: `${status} has none at GitHub` }]
    }
    const message = this.#check(`${operation} ${status}`, schema, body)
    return message ? [{ where: operation, part: 'response body', message }] : []
  }

  error(where: string, body: unknown): Violation[] {
    const either: Schema = {
      anyOf: [{ $ref: 'github#/$defs/validation-error' }, { $ref: 'github#/$defs/basic-error' }],
      required: ['message'],
    }
    const message = this.#check('error', either, body)
    return message ? [{ where, part: 'error body', message }] : []
  }

  /** `name` as GitHub's description has it: `issue-comment-created`. */
  payload(name: string, payload: unknown): Violation[] {
    const schema = this.#description.webhooks[name]
    if (!schema)
      return [{ where: name, part: 'payload', message: 'is not among the webhooks that the double imitates' }]
    const message = this.#check(`webhook ${name}`, schema, payload)
    return message ? [{ where: name, part: 'payload', message }] : []
  }

  #check(key: string, schema: Schema, value: unknown): string | null {
    let validate = this.#compiled.get(key)
    if (!validate) {
      validate = this.#ajv.compile(schema)
      this.#compiled.set(key, validate)
    }
    if (validate(value)) return null
    return (validate.errors ?? [])
      .map(e => `${e.instancePath || '(root)'} ${e.message ?? ''} ${JSON.stringify(e.params)}`)
      .join('; ')
  }
}

const isEmpty = (body: unknown): boolean => typeof body === 'object' && body !== null && Object.keys(body).length === 0

/** A request property that GitHub would silently ignore is a mistake of the caller; answers may hold more than described. */
const closed = (schema: Schema): Schema =>
  schema['properties'] !== undefined && schema['additionalProperties'] === undefined
    ? { ...schema, additionalProperties: false }
    : schema

/** The typed value of a path or query text, by the schema's type; a text that does not fit stays text and so fails. */
function fromText(text: string, schema: Schema, description: Description): unknown {
  const ref = schema['$ref']
  if (typeof ref === 'string')
    return fromText(text, description.$defs[ref.slice('github#/$defs/'.length)] ?? {}, description)
  const options = (schema['oneOf'] ?? schema['anyOf']) as Schema[] | undefined
  if (options) {
    const numeric = options.find(option => option['type'] === 'integer')
    return numeric && /^-?\d+$/.test(text) ? Number(text) : text
  }
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type']
  if ((type === 'integer' || type === 'number') && /^-?\d+$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  if (type === 'array') return text.split(',')
  return text
}
