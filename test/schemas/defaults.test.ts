import { describe, expect, it } from 'vitest'
import { withDefaults } from '../../policy/decision/schema.ts'
import { workflowJsonSchema } from '../../policy/document/index.ts'
import { workflowSchema } from '../../policy/document/schema/workflow.ts'
import type { Json, JsonObject } from '../../policy/json.ts'
import { planOf } from '../document/support.ts'

const schema = workflowJsonSchema()
const image = `worker@sha256:${'0'.repeat(64)}`
const task: JsonObject = {
  id: 'a',
  uses: 'action:x',
  retry: {},
  foreach: { items: [1] },
  matrix: { axes: { n: [1] } },
  loop: { maxIterations: 1, while: 'vars.x' },
  route: { select: '${{ vars.x }}', cases: [] },
  compensate: { uses: 'action:x', retry: {} },
}

/** Every object that a document can hold, with what each requires and nothing else. */
const skeleton: JsonObject = {
  apiVersion: 'agentctl.dev/v1',
  kind: 'Workflow',
  metadata: { name: 'n' },
  spec: {
    providers: { p: { kind: 'fake' } },
    agents: { a: { provider: 'p', model: 'm', retry: {}, reasoning: { effort: 'low' }, usageLimit: {} } },
    actions: { x: { kind: 'builtin.shell.exec', command: 'true', container: { image } } },
    tools: {
      t: {
        kind: 'builtin.echo',
        description: '',
        inputSchema: true,
        outputSchema: true,
        capability: 'c',
        risk: 'low',
        effectClass: 'pure',
        idempotency: 'pure',
        retrySafe: true,
        timeoutSeconds: 1,
      },
    },
    subworkflows: { s: { version: '1', inputSchema: true, outputSchema: true, tasks: [task] } },
    tasks: [task],
    policy: { network: { customCa: { process: { command: 'c' } } } },
    memory: { longTerm: {} },
    mcpServers: { m: { url: 'u' } },
    a2aPeers: { p: { cardUrl: 'u' } },
    packs: [{ name: 'p', version: '1', source: { path: 'p' } }],
    packTrust: {},
    compensation: {},
    runtime: {
      budgets: {},
      pricing: { version: '1', models: { m: { inputMicrousdPerMillionTokens: 0, outputMicrousdPerMillionTokens: 0 } } },
    },
    output: {},
  },
}

interface Field {
  path: string
  published: Json | undefined
  parsed: unknown
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The schema that a reference leads to, what stands beside the reference over it. */
function follow(node: Json | undefined): JsonObject {
  if (!isObject(node)) return {}
  const { $ref, ...own } = node
  if (typeof $ref !== 'string') return node
  const definitions = schema['$defs']
  const target = isObject(definitions) ? definitions[$ref.split('/').at(-1) ?? ''] : undefined
  return { ...follow(target), ...own }
}

/** Fields of every object that the skeleton has, as published and as parsed where the document leaves them out. */
function fields(node: JsonObject, written: Json | undefined, parsed: unknown, path: string): Field[] {
  const found: Field[] = []
  for (const option of [node['anyOf'], node['oneOf'], node['allOf']])
    if (Array.isArray(option)) for (const one of option) found.push(...fields(follow(one), written, parsed, path))
  if (Array.isArray(parsed)) {
    const items = Array.isArray(written) ? written : []
    return [...found, ...fields(follow(node['items']), items[0], parsed[0], `${path}[]`)]
  }
  if (!isObject(parsed)) return found
  const { properties, additionalProperties } = node
  if (!isObject(properties)) {
    const [name = ''] = Object.keys(parsed)
    const below = isObject(written) ? written[name] : undefined
    return isObject(additionalProperties) && parsed[name] !== undefined
      ? [...found, ...fields(follow(additionalProperties), below, parsed[name], `${path}.*`)]
      : found
  }
  for (const [name, property] of Object.entries(properties)) {
    const target = follow(property)
    const own = isObject(written) ? written[name] : undefined
    if (own === undefined) found.push({ path: `${path}.${name}`, published: target['default'], parsed: parsed[name] })
    found.push(...fields(target, own, parsed[name], `${path}.${name}`))
  }
  return found
}

describe('what is published is what holds', () => {
  const result = workflowSchema.safeParse(skeleton)
  const all = result.success ? fields(schema, skeleton, result.data, '') : []

  it('the skeleton is a document of the schema', () => {
    expect(result.error?.issues ?? []).toEqual([])
    expect(all.length).toBeGreaterThan(100)
  })

  /** Filled in by the compiler, and tested below. */
  const limits = ['stdoutLimitBytes', 'stderrLimitBytes', 'combinedOutputLimitBytes']
  const compiled: ReadonlySet<string> = new Set(limits.map(field => `.spec.actions.*.${field}`))
  // A policy keeps what was written, for the floor's sake; its defaults have a function of their own.
  const policy = withDefaults({})
  const filled: { readonly [path: string]: unknown } = Object.fromEntries([
    ...Object.entries(policy).map(([field, value]) => [`.spec.policy.${field}`, value]),
    ...Object.entries(policy.network).map(([field, value]) => [`.spec.policy.network.${field}`, value]),
  ])
  const holds = ({ path, parsed }: Field): unknown => {
    const value = Object.hasOwn(filled, path) ? filled[path] : parsed
    return value === 'any' ? [] : value
  }

  it('every default that is filled in is published, and none that is not', () => {
    const differing = all.filter(field => {
      const { path, published, parsed } = field
      if (compiled.has(path)) return false
      // `{}`: what the object holds then is told at its own fields.
      if (JSON.stringify(published) === '{}' && isObject(parsed)) return false
      return JSON.stringify(holds(field)) !== JSON.stringify(published)
    })
    expect(differing).toEqual([])
  })

  it.each<[string, (plan: ReturnType<typeof planOf>) => unknown]>([
    ['spec.actions.*.stdoutLimitBytes', plan => plan.tasks['a']?.action.process?.stdoutLimitBytes],
    ['spec.actions.*.stderrLimitBytes', plan => plan.tasks['a']?.action.process?.stderrLimitBytes],
    ['spec.actions.*.combinedOutputLimitBytes', plan => plan.tasks['a']?.action.process?.combinedOutputLimitBytes],
    ['spec.actions.*.cwd', plan => plan.tasks['a']?.action.process?.cwd],
    ['spec.actions.*.isolation', plan => plan.tasks['a']?.action.isolation],
    ['spec.runtime.defaultTimeoutSeconds', plan => plan.tasks['a']?.timeoutSeconds],
    ['spec.runtime.maxConcurrency', plan => plan.maxConcurrency],
    ['spec.tasks[].failure', plan => plan.tasks['a']?.failure],
    ['spec.policy.approval', plan => plan.effectivePolicy.approval.value],
    ['spec.policy.nonInteractive', plan => plan.effectivePolicy.nonInteractive.value],
    ['spec.compensation.onFailure', plan => plan.compensation?.onFailure],
    ['spec.compensation.approval', plan => plan.compensation?.approval],
  ])('%s in the plan', (path, read) => {
    const undo = { uses: 'action:x' }
    const plan = planOf(
      JSON.stringify({
        apiVersion: 'agentctl.dev/v1',
        kind: 'Workflow',
        metadata: { name: 'n' },
        spec: {
          actions: { x: { kind: 'builtin.shell.exec', command: 'true' } },
          tasks: [{ id: 'a', uses: 'action:x', compensate: undo }],
        },
      }),
    )
    const published = path.split('.').reduce<JsonObject>((node, name) => {
      if (name === '*') return follow(node['additionalProperties'])
      const properties = node['properties']
      const below = follow(isObject(properties) ? properties[name.replace('[]', '')] : undefined)
      return name.endsWith('[]') ? follow(below['items']) : below
    }, schema)
    expect(published['default']).toEqual(read(plan))
    expect(published['default']).toBeDefined()
  })
})
