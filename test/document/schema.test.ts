import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { workflowJsonSchema } from '../../policy/document/index.ts'
import { nearest } from '../../policy/document/schema/fields.ts'
import { build, shown, smallest, workflow } from './support.ts'

describe('faults of the schema', () => {
  const base = workflow(smallest)
  it.each([
    [base.replace('apiVersion: agentctl.dev/v1\n', ''), '1:1 schema_violation apiVersion is missing'],
    [base.replace('name: test', 'description: x'), '3:11 schema_violation metadata.name is missing'],
    [base.replace('name: test', 'name: ""'), '3:18 schema_violation metadata.name must not be empty'],
    [base.replace('name: test', 'name: test, nam: x'), '3:24 schema_violation unknown field `nam`'],
    [
      base.replace('name: test', 'name: test, labels: {a: 1}'),
      '3:36 schema_violation metadata.labels.a must be a text, not the number 1',
    ],
    [
      base.replace('[{id: a, uses: "action:assign"}]', '[]'),
      '6:10 schema_violation spec.tasks must have at least 1 entry',
    ],
    [
      base.replace('[{id: a, uses: "action:assign"}]', '{}'),
      '6:10 schema_violation spec.tasks must be a list, not a map',
    ],
    [
      base.replace('[{id: a, uses: "action:assign"}]', '[null]'),
      '6:11 schema_violation spec.tasks[0] must be a map, not null',
    ],
    [base.replace('id: a, ', ''), '6:11 schema_violation spec.tasks[0].id is missing'],
    [
      base.replace('id: a', 'id: -a'),
      '6:16 schema_violation spec.tasks[0].id is `-a`: letters, digits, `_` and `-`, starting with no `-`',
    ],
    [base.replace('id: a', 'id: __proto__'), '6:16 schema_violation spec.tasks[0].id is `__proto__`: this name is not'],
    [base.replace('id: a', 'id: "a b"'), '6:16 schema_violation spec.tasks[0].id is `a b`: letters'],
    [
      base.replace('builtin.assign', 'builtin.asign'),
      '5:28 schema_violation spec.actions.assign.kind is `builtin.asign`; it must be one of',
    ],
    [
      `${base}  runtime: {maxConcurrency: 0}\n`,
      '7:29 schema_violation spec.runtime.maxConcurrency must be at least 1, not 0',
    ],
    [
      `${base}  runtime: {maxConcurrency: 1.5}\n`,
      '7:29 schema_violation spec.runtime.maxConcurrency must be a whole number, not the number 1.5',
    ],
    [
      `${base}  runtime: {maxConcurrency: "2"}\n`,
      '7:29 schema_violation spec.runtime.maxConcurrency must be a number, not the text 2',
    ],
    [
      `${base}  output: {verbose: yes}\n`,
      '7:21 schema_violation spec.output.verbose must be true or false, not the text yes',
    ],
    [
      `${base}  policy: {approval: sometimes}\n`,
      '7:22 schema_violation spec.policy.approval is `sometimes`; it must be one of',
    ],
    [`${base}  policy: {writableRoots: ["../x"]}\n`, '7:28 schema_violation spec.policy.writableRoots[0] is `../x`'],
    [
      `${base}  policy: {network: {connectTimeoutSeconds: 121}}\n`,
      '7:45 schema_violation spec.policy.network.connectTimeoutSeconds must be at most 120, not 121',
    ],
    [
      `${base}  subworkflows: {s: {version: v, inputSchema: 1, outputSchema: true, tasks: [{id: a, uses: b}]}}\n`,
      '7:47 schema_violation spec.subworkflows.s.inputSchema must be a JSON Schema',
    ],
    [`${base}  spec: {}\n`, '7:3 schema_violation unknown field `spec`'],
    ['- a\n', '1:1 schema_violation a document is a map'],
    ['text', '1:1 schema_violation a document is a map'],
    ['', '1:1 schema_violation a document is a map'],
  ])('%#', (text, expected) => {
    const found = shown(build(text).diagnostics)
    expect(found).toEqual([expect.stringContaining(expected)])
  })

  it('does not blame what refers to a faulty part', () => {
    const text = workflow(`
      actions:
        bad: {kind: builtin.assign, surprise: 1, timeoutSeconds: 0}
        good: {kind: builtin.assign}
      tasks:
        - {id: a, uses: "action:bad", needs: [1x, b]}
        - {id: b, uses: 7, with: {x: "\${{ inputs.none }}"}}
        - {id: c, uses: "action:good", needs: [a, b], with: {x: "\${{ tasks.b.output }} \${{ tasks.a.output }}"}}
        - {id: d, uses: "action:gone", needs: [c, nobody]}
    `)
    expect(shown(build(text).diagnostics)).toEqual([
      '6:33 schema_violation unknown field `surprise`',
      '6:62 schema_violation spec.actions.bad.timeoutSeconds must be at least 1, not 0',
      '9:43 missing_reference task `a` needs `1x`, which is not declared',
      '10:21 schema_violation spec.tasks[1].uses must be a text, not the number 7',
      '12:21 missing_reference spec.actions has no `gone`',
      '12:47 missing_reference task `d` needs `nobody`, which is not declared',
    ])
  })

  it('suggests what was meant', () => {
    expect(build(base.replace('uses:', 'use:')).diagnostics.map(({ help }) => help)).toContain('did you mean `uses`?')
    expect(nearest('apporval', ['approval', 'providers'])).toBe('approval')
    expect(nearest('zzz', ['approval', 'providers'])).toBeNull()
  })
})

describe('JSON Schema', () => {
  const schema = workflowJsonSchema()
  const validate = new Ajv2020({ strict: false }).compile(schema as object)

  it('is the file in schemas/', () => {
    expect(JSON.parse(readFileSync(new URL('../../schemas/workflow.schema.json', import.meta.url), 'utf8'))).toEqual(
      schema,
    )
  })

  it.each([
    [workflow(smallest), true],
    [`${workflow(smallest)}  runtime: {maxConcurrency: 65}\n`, false],
    [`${workflow(smallest)}  surprise: 1\n`, false],
    [`${workflow(smallest)}  policy: {approval: always, writableRoots: [out]}\n`, true],
    [`${workflow(smallest)}  policy: {network: {customCa: {env: A, file: b}}}\n`, false],
    [workflow(smallest).replace('id: a', 'id: -a'), false],
    [workflow(smallest).replace('uses: "action:assign"', 'uses: "action:assign", retry: {maxAttempts: 21}'), false],
  ])('agrees with the parser on %j', (text, valid) => {
    expect(validate(parse(text))).toBe(valid)
    expect(build(text).diagnostics.length > 0).toBe(!valid)
  })
})

it.each([
  ['an empty file', '', 'apiVersion: agentctl.dev/v1'],
  ['a scalar', 'hello', 'apiVersion: agentctl.dev/v1'],
  ['no tasks', workflow('tasks: []'), 'write one or more'],
  [
    'a map that is null',
    workflow(`inputs:\n${smallest.replaceAll('\n  ', '\n').trim()}`),
    'write a map, or leave it out',
  ],
  [
    'a limit beyond the greatest',
    workflow(`
      actions: {p: {kind: builtin.shell.exec, command: "true", stdoutLimitBytes: 16777217}}
      tasks: [{id: a, uses: "action:p"}]`),
    'write 16777216 or less',
  ],
  [
    'an expression',
    workflow(`
      actions: {assign: {kind: builtin.assign}}
      tasks: [{id: a, uses: "action:assign", with: {x: "\${{ inputs.x == 1 && true }}"}}]`),
    'write one path',
  ],
  [
    'a sub-workflow whose schema is none',
    workflow(`
      actions: {assign: {kind: builtin.assign}}
      subworkflows: {s: {version: v, inputSchema: 1, tasks: [{id: a, uses: "action:assign"}]}}
      tasks: [{id: a, uses: "workflow:s"}]`),
    'write `true` where anything is right',
  ],
])('%s comes with what to write instead', (_, text, help) => {
  const { diagnostics } = build(text)
  expect(diagnostics).toHaveLength(1)
  expect(diagnostics[0]?.help).toContain(help)
})
