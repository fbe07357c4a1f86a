import { describe, expect, it } from 'vitest'
import { compile, jsonSchemasFor, parseDocument } from '../../policy/document/index.ts'
import { build, planOf, shown, workflow } from '../document/support.ts'

const extension = (fields: string) => `
  actions:
    x:
      kind: extension.process
      command: tool
      ${fields.trim().split('\n').join('\n      ')}
  tasks: [{id: a, uses: "action:x", with: {name: n}}]
`
const whole = `
protocolVersion: agentctl.dev/process-extension/v1
inputSchema: {type: object, required: [name], properties: {name: {type: string}}}
outputSchema: {type: object}
capabilities: [b, a]`

function found(spec: string): string[] {
  return shown(build(workflow(spec)).diagnostics)
}

describe('an extension', () => {
  it('is planned as it declares itself', () => {
    const plan = planOf(workflow(extension(`${whole}\nidempotency: keyed`)))
    expect(plan.tasks['a']?.action).toMatchObject({
      kind: 'extension.process',
      tool: 'process.exec',
      capabilities: ['b', 'a'],
      idempotency: 'keyed',
      extension: {
        protocolVersion: 'agentctl.dev/process-extension/v1',
        inputSchema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        outputSchema: { type: 'object' },
        capabilities: ['b', 'a'],
      },
    })
    expect(plan.processes).toMatchObject([{ action: 'x', kind: 'extension.process', tasks: ['a'], command: 'tool' }])
  })

  const without = (field: string) =>
    whole
      .split('\n')
      .filter(line => !line.startsWith(field))
      .join('\n')
  const cases: [name: string, fields: string, expected: string][] = [
    ['no protocolVersion', without('protocolVersion'), 'extension `x` has no protocolVersion'],
    ['another protocol', whole.replace('/v1\n', '/v2\n'), 'protocolVersion `agentctl.dev/process-extension/v2` is not'],
    ['no inputSchema', without('inputSchema'), 'extension `x` has no inputSchema'],
    ['no outputSchema', without('outputSchema'), 'extension `x` has no outputSchema'],
    ['no capabilities', without('capabilities'), 'extension `x` has no capabilities'],
    ['a schema that is no map', whole.replace('outputSchema: {type: object}', 'outputSchema: true'), 'must be a map'],
    ['an argument of the protocol', `${whole}\nargs: [--agentctl-invoke]`, 'agentctl adds `--agentctl-invoke`'],
    ['a faulty schema', whole.replace('{type: object}', '{type: objekt}'), '`type` must be a name of a type'],
  ]
  it.each(cases)('%s is refused with its place and a remedy', (_, fields, expected) => {
    const { plan, diagnostics } = build(workflow(extension(fields)))
    expect(plan).toBeNull()
    expect(diagnostics).toHaveLength(1)
    expect(diagnostics[0]).toMatchObject({ code: 'schema_violation' })
    expect(diagnostics[0]?.message).toContain(expected)
    expect(diagnostics[0]?.help).not.toBe('')
    expect(diagnostics[0]?.line).toBeGreaterThan(5)
  })

  it('has its known input checked, and one with templates left to the run', () => {
    const text = workflow(extension(whole))
    expect(shown(build(text.replace('{name: n}', '{name: 1}')).diagnostics)).toEqual([
      '13:43 schema_violation `/name` of the input of action `x` must be of type string',
    ])
    expect(shown(build(text.replace(', with: {name: n}', '')).diagnostics)).toEqual([
      '13:11 schema_violation the input of action `x` must have `name`',
    ])
    expect(
      build(text.replace('{name: n}', '{name: "${{ vars.n }}"}').replace('spec:', 'spec:\n  vars: {n: 1}')),
    ).toMatchObject({
      diagnostics: [],
    })
  })

  it('has a field that nothing else has', () => {
    expect(
      found('actions: {x: {kind: builtin.assign, protocolVersion: v}}\ntasks: [{id: a, uses: "action:x"}]'),
    ).toEqual(['5:39 schema_violation `protocolVersion` has no meaning for builtin.assign'])
  })
})

describe('schemas of any action and task', () => {
  it('stand in the plan and change its digest', () => {
    const spec = (schema: string) =>
      workflow(`actions: {x: {kind: builtin.assign${schema}}}\ntasks: [{id: a, uses: "action:x"${schema}}]`)
    const plain = planOf(spec(''))
    const task = planOf(
      workflow(
        'actions: {x: {kind: builtin.assign}}\ntasks: [{id: a, uses: "action:x", outputSchema: {type: object}}]',
      ),
    )
    expect(plain.tasks['a']).not.toHaveProperty('outputSchema')
    expect(task.tasks['a']?.outputSchema).toEqual({ type: 'object' })
    expect(task.planDigest).not.toBe(plain.planDigest)
    const action = planOf(spec(', outputSchema: {type: object}'))
    expect(action.tasks['a']?.action.outputSchema).toEqual({ type: 'object' })
    expect(action.planDigest).not.toBe(task.planDigest)
  })

  it('are checked at their own lines, used or not', () => {
    const spec = `
      actions:
        unused:
          kind: builtin.assign
          inputSchema:
            properties:
              a: {pattern: "(?=x)"}
              b: {$ref: "https://example.com/schema.json"}
              c: {requird: [d]}
        used: {kind: builtin.assign}
      tasks:
        - id: a
          uses: action:used
          outputSchema: {items: [{type: string}]}
    `
    expect(found(spec)).toEqual([
      '10:24 schema_violation the pattern is not one that re2 can express (no look-around, no back-references, at most 1,000 repetitions)',
      '11:21 schema_violation the reference `https://example.com/schema.json` leaves its schema; nothing is fetched',
      '12:24 schema_violation `requird` is no keyword of JSON Schema',
      '17:29 schema_violation `items` must be a schema: a map, true or false',
    ])
  })

  it('hold the input of every kind of action to its schema', () => {
    expect(
      found(
        'actions: {x: {kind: builtin.write, inputSchema: {properties: {path: {pattern: "^out/"}}}}}\ntasks: [{id: a, uses: "action:x", with: {path: in/x, content: c}}]',
      ),
    ).toEqual(['6:43 schema_violation `/path` of the input of action `x` must match the pattern ^out/'])
  })

  it('are loaded only for a document that has some, and never silently passed over', async () => {
    const parse = (spec: string) => {
      const { document } = parseDocument({ text: workflow(spec), file: 'test.yaml' })
      if (document === null) throw new Error('no document')
      return document
    }
    const plain = parse('actions: {x: {kind: builtin.assign}}\ntasks: [{id: a, uses: "action:x"}]')
    const checked = parse('actions: {x: {kind: builtin.assign}}\ntasks: [{id: a, uses: "action:x", outputSchema: {}}]')
    const options = { inputs: {}, files: {}, floor: null }
    expect(await jsonSchemasFor(plain)).toBeNull()
    expect(compile({ document: plain, ...options }).plan).not.toBeNull()
    expect(() => compile({ document: checked, ...options })).toThrow(/jsonSchemas/)
    expect(compile({ document: checked, ...options, jsonSchemas: await jsonSchemasFor(checked) }).plan).not.toBeNull()
  })
})
