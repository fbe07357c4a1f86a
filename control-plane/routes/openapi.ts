import { z } from 'zod'
import { problemSchema } from '../../ledger/wire.ts'
import type { JsonObject } from '../../policy/json.ts'
import type { Operation } from './operation.ts'

const security: { [caller in Operation['caller']]: JsonObject[] } = {
  anyone: [],
  github: [{ webhook: [] }],
  job: [{ oidc: [] }],
  lease: [{ lease: [] }],
  person: [{ person: [] }],
  'lease or person': [{ lease: [] }, { person: [] }],
}

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description })

const securitySchemes: JsonObject = {
  oidc: bearer("GitHub's OIDC token of a job, for this control plane's audience, at most 5 minutes old, used once"),
  lease: bearer('Lease token of an attach or a later receipt: bound to one run and epoch'),
  person: bearer("User token of the App's user authorisation"),
  webhook: { type: 'apiKey', in: 'header', name: 'x-hub-signature-256', description: 'HMAC-SHA256 of the raw body' },
}

const refusalTexts: { [status: number]: string } = {
  400: 'Not JSON',
  401: 'No or no valid proof of who calls',
  403: 'Refused',
  404: 'Nothing here that the caller may see',
  409: 'The state does not allow it',
  413: 'Body too large',
  415: 'Another media type is wanted',
  422: 'Not of the wanted shape',
  429: 'Too many requests from this caller',
  503: 'Storage or GitHub does not answer; nothing was done',
  507: 'Storage or quota is full',
}

/** OpenAPI 3.1 of the operations, made from the schemas that the routes check with. */
export function openApi(operations: readonly Operation[], publicUrl: string): JsonObject {
  const paths: { [path: string]: JsonObject } = {}
  for (const operation of operations) {
    const entry = paths[operation.path] ?? {}
    entry[operation.method] = describe(operation)
    paths[operation.path] = entry
  }
  return {
    openapi: '3.1.0',
    info: { title: 'agentctl control plane', version: '1', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: publicUrl }],
    paths,
    components: { securitySchemes, schemas: { Problem: jsonSchema(problemSchema, 'output') } },
  }
}

function describe(operation: Operation): JsonObject {
  const { answer, body } = operation
  const answerType = operation.answerType ?? 'application/json'
  const success: JsonObject =
    answer === null
      ? { description: 'Done' }
      : { description: 'The answer', content: { [answerType]: { schema: jsonSchema(answer, 'output') } } }
  return {
    summary: operation.summary,
    operationId: `${operation.method} ${operation.path}`,
    security: security[operation.caller],
    parameters: [...pathParameters(operation.path), ...queryParameters(operation.query)],
    ...((body !== undefined || operation.bodyType !== undefined) && {
      requestBody: {
        required: true,
        content: { [operation.bodyType ?? 'application/json']: body ? { schema: jsonSchema(body, 'input') } : {} },
      },
    }),
    responses: { [answer === null ? '204' : '200']: success, ...refusals(operation) },
  }
}

function refusals({ caller, refusals: own = [] }: Operation): JsonObject {
  const common = caller === 'anyone' ? [] : caller === 'job' || caller === 'github' ? [401, 429] : [401, 404, 429]
  const statuses = [...new Set([...common, ...own])].sort()
  return Object.fromEntries(
    statuses.map(status => [
      String(status),
      {
        description: refusalTexts[status] ?? 'Refused',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  )
}

function pathParameters(path: string): JsonObject[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters(query: z.ZodObject | undefined): JsonObject[] {
  if (query === undefined) return []
  const { properties = {}, required = [] } = jsonSchema(query, 'output') as {
    properties?: { [name: string]: JsonObject }
    required?: string[]
  }
  const optional = Object.keys(query.shape).filter(name => query.shape[name]?.safeParse(undefined).success)
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name) && !optional.includes(name),
    schema,
  }))
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonObject
  return rest
}
