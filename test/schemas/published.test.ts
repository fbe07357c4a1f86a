import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { staleSchemas, writeSchemas } from '../../build-schemas.ts'
import { withDefaults } from '../../policy/decision/schema.ts'
import { floorJsonSchema, packJsonSchema, workflowJsonSchema } from '../../policy/document/index.ts'
import { applyNotes } from '../../policy/document/schema/notes/apply.ts'
import type { Json, JsonObject } from '../../policy/json.ts'
import { workflow } from '../document/support.ts'
import { assign } from '../packs/support.ts'

const root = path.resolve(import.meta.dirname, '../..')
const published = { workflow: workflowJsonSchema(), pack: packJsonSchema(), floor: floorJsonSchema() }

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

interface Field {
  at: string
  /** What the reference leads to in the end. */
  target: JsonObject
  /** The first on the way there. */
  description: string
}

/** Every field of a schema with its path, references followed once each. */
function fieldsOf(schema: JsonObject): Field[] {
  const found: Field[] = []
  const seen = new Set<JsonObject>()
  const next = (node: JsonObject): JsonObject | null => {
    const name =
      String(node['$ref'] ?? '')
        .split('/')
        .at(-1) ?? ''
    const definitions = schema['$defs']
    const target = isObject(definitions) ? definitions[name] : undefined
    return isObject(target) ? target : null
  }
  const fieldOf = (node: JsonObject, at: string): Field => {
    const text = typeof node['description'] === 'string' ? node['description'] : ''
    const below = next(node)
    if (below === null) return { at, target: node, description: text }
    const { target, description } = fieldOf(below, at)
    return { at, target, description: text === '' ? description : text }
  }
  const walk = (node: Json | undefined, at: string): void => {
    if (Array.isArray(node)) for (const item of node) walk(item, at)
    if (!isObject(node)) return
    const { target } = fieldOf(node, at)
    if (seen.has(target)) return
    seen.add(target)
    const { properties } = target
    for (const [name, field] of Object.entries(isObject(properties) ? properties : {})) {
      if (isObject(field)) found.push(fieldOf(field, `${at}.${name}`))
      walk(field, `${at}.${name}`)
    }
    for (const key of ['items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf']) walk(target[key], at)
  }
  walk(schema, '')
  return found
}

describe.each(Object.entries(published))('the JSON Schema of a %s', (_, schema) => {
  it('describes itself and every field', () => {
    const fields = fieldsOf(schema)
    expect(fields.length).toBeGreaterThan(25)
    const bare = fields.filter(({ description }) => description === '')
    expect(bare.map(({ at }) => at)).toEqual([])
    expect(schema['description']).toEqual(expect.any(String))
  })

  it('tells the unit of every number', () => {
    const unit =
      /Seconds|Bytes|Millis|Ms$|[Nn]umber|seconds|bytes|days|dollar|thousandths|tokens|attempts|processes|files|ports/
    const numbers = fieldsOf(schema).filter(({ target }) => ['integer', 'number'].includes(String(target['type'])))
    const bare = numbers.filter(({ at, description }) => !unit.test(`${at} ${description}`))
    expect(bare.map(({ at }) => at)).toEqual([])
  })

  it('is valid draft 2020-12 and refuses unknown fields at every level that has fields', () => {
    expect(() => new Ajv2020({ strict: false }).compile(schema)).not.toThrow()
    const open = fieldsOf(schema).filter(
      ({ target }) => isObject(target['properties']) && target['additionalProperties'] !== false,
    )
    expect(open.map(({ at }) => at)).toEqual([])
  })
})

it('the defaults of the policy are those that hold', () => {
  const properties = fieldsOf(published.workflow).find(({ at }) => at === '.spec.policy')?.target['properties']
  if (!isObject(properties)) throw new Error('no policy')
  const shown = Object.entries(withDefaults({})).map(([name, value]) => {
    const own = properties[name]
    const asWritten = value === 'any' ? [] : value
    return [name, isObject(own) ? own['default'] : undefined, asWritten]
  })
  for (const [name, given, holds] of shown)
    if (name !== 'network') expect([name, given]).toEqual([name, holds])
    else expect(given).toEqual({ ...(holds as JsonObject), allowedPorts: [], customCa: undefined })
  expect(shown.length).toBe(13)
})

it('a note that names no field is refused', () => {
  expect(() => applyNotes({ type: 'object', properties: { a: {} } }, { b: 'gone' })).toThrow('.b')
})

describe('what an editor shows', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  const check = {
    workflow: ajv.compile(published.workflow),
    pack: ajv.compile(published.pack),
    floor: ajv.compile(published.floor),
  }

  const examples = readdirSync(path.join(root, 'examples'), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.yaml'))
    .map(file => path.join(root, 'examples', file))
    .filter(file => readFileSync(file, 'utf8').includes('kind: Workflow'))

  it.each(examples)('no fault in %s', file => {
    expect([check.workflow(parse(readFileSync(file, 'utf8'))), check.workflow.errors]).toEqual([true, null])
  })

  const spec = 'tasks: [{id: a, uses: router}]\n'
  const floor = (text: string) =>
    `apiVersion: agentctl.dev/v1\nkind: SecurityFloor\nmetadata: {name: f}\nspec: {${text}}\n`
  it.each<[keyof typeof check, string, boolean]>([
    ['workflow', workflow(`${spec}policy: {processAllowlist: [true, git, 7]}`), true],
    ['workflow', workflow(`${spec}policy: {network: {allowedSchemes: [ftp]}}`), false],
    ['workflow', workflow(`${spec}policy: {writableRoots: [[out]]}`), false],
    [
      'workflow',
      workflow(`${spec}packs: [{name: a, version: "^1", source: {path: a.yaml}, integrity: "sha256:00"}]`),
      false,
    ],
    ['workflow', workflow(`${spec}actions: {a: {kind: builtin.shell.exec, command: true}}`), false],
    ['pack', assign, true],
    ['pack', `${assign}policy: {}\n`, false],
    ['pack', assign.replace('version: 1.2.0', 'version: 1'), false],
    [
      'floor',
      floor('limits: {timeoutSeconds: 60}, approvers: {users: [ann, {login: bob, id: 3}]}, expiresAfter: 7d'),
      true,
    ],
    ['floor', floor('policy: {approval: mutations_or_high_risk, processAllowlist: []}'), true],
    ['floor', floor('minimumIsolation: vm'), false],
    ['floor', floor('surprise: 1'), false],
    ['floor', floor('setBy: {}'), false],
  ])('%s %j: %s', (kind, text, valid) => {
    expect(check[kind](parse(text))).toBe(valid)
  })
})

describe('the files in schemas/', () => {
  let folder: string | null = null
  afterEach(() => {
    if (folder !== null) rmSync(folder, { recursive: true })
    folder = null
  })

  it('are what the source gives', async () => {
    expect(await staleSchemas(path.join(root, 'schemas'))).toEqual([])
  })

  it('are told when stale, missing or left over', async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'agentctl-schemas-'))
    await writeSchemas(folder)
    expect(await staleSchemas(folder)).toEqual([])
    const changed = path.join(folder, 'workflow.schema.json')
    writeFileSync(changed, readFileSync(changed, 'utf8').replace('"Workflow"', '"workflow"'))
    rmSync(path.join(folder, 'pack.schema.json'))
    writeFileSync(path.join(folder, 'old.schema.json'), '{}')
    expect(await staleSchemas(folder)).toEqual(['old.schema.json', 'pack.schema.json', 'workflow.schema.json'])
  })
})
