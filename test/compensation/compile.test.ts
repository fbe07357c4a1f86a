import { expect, test } from 'vitest'
import { compile, type Plan, parseDocument } from '../../policy/document/index.ts'
import * as jsonSchemas from '../../policy/json-schema/index.ts'

const actions = `
  actions:
    write: {kind: builtin.write}
    assign: {kind: builtin.assign, with: {extra: "\${{ tasks.a.output.output.x }}"}}
    plain: {kind: builtin.assign}
    shell: {kind: builtin.shell.exec, command: "true"}`

function build(spec: string): { plan: Plan | null; diagnostics: { code: string; message: string; path: string }[] } {
  const text = `apiVersion: agentctl.dev/v1\nkind: Workflow\nmetadata: {name: test}\nspec:\n  policy: {processAllowlist: [true]}${actions}\n${spec}`
  const { document, diagnostics } = parseDocument({ text, file: 'test.yaml' })
  if (document === null) return { plan: null, diagnostics }
  return compile({ document, inputs: {}, files: {}, floor: null, jsonSchemas })
}
const one = (compensate: string, more = '') =>
  `  tasks:\n    - {id: b, uses: "action:plain"}\n    - {id: a, uses: "action:plain", with: {x: 1}, compensate: ${compensate}${more}}\n    - {id: c, uses: "action:plain", needs: [a]}`

test('the plan has it at its task, with defaults filled in, and counts it among effects and processes', () => {
  const { plan, diagnostics } = build(one('{uses: "action:shell", retry: {maxAttempts: 3}, timeoutSeconds: 7}'))
  expect(diagnostics).toEqual([])
  expect(plan?.order).toEqual(['b', 'a', 'c'])
  expect(plan?.compensation).toEqual({ onFailure: 'manual', approval: 'policy' })
  expect(plan?.tasks['a']?.compensate).toMatchObject({
    uses: 'action:shell',
    timeoutSeconds: 7,
    retry: { maxAttempts: 3, backoffMs: 0 },
    failure: 'stop',
    compensates: { task: 'a', name: 'a' },
    action: { kind: 'builtin.shell.exec', process: { timeoutSeconds: 7 } },
  })
  expect(plan?.requirements.effects.map(({ task }) => task)).toEqual(['b', 'a', 'a--compensate', 'c'])
  expect(plan?.processes[0]?.tasks).toEqual(['a--compensate'])
})

test('a plan without one says nothing of compensation, whatever spec.compensation says', () => {
  const { plan } = build('  compensation: {onFailure: automatic}\n  tasks: [{id: a, uses: "action:plain"}]')
  expect(plan).not.toBeNull()
  expect(plan).not.toHaveProperty('compensation')
})

test('what is undone how is part of the digest, where it stands is not', () => {
  const digest = (spec: string) => build(spec).plan?.planDigest
  const text = one('{uses: "action:plain", with: {x: 1}}')
  expect(digest(one('{uses: "action:plain", with: {x: 2}}'))).not.toBe(digest(text))
  expect(digest(`  compensation: {onFailure: automatic}\n${text}`)).not.toBe(digest(text))
  expect(digest(`  # a line\n\n${text}`)).toBe(digest(text))
})

test.each([
  ['its own output, and the defaults of its action', '{uses: "action:assign", with: {y: "${{ tasks.a.output }}"}}'],
  [
    'inputs of an action as they are',
    '{uses: "action:write", with: {path: p, content: "${{ tasks.a.output.output.x }}"}}',
  ],
])('reads %s', (_, compensate) => {
  expect(build(one(compensate)).diagnostics).toEqual([])
})

test.each([
  [
    'a task that was not needed',
    '{uses: "action:plain", with: {y: "${{ tasks.b.output }}"}}',
    'invalid_template',
    'spec.tasks[1].compensate.with.y',
  ],
  [
    'a task behind it',
    '{uses: "action:plain", with: {y: "${{ tasks.c.output }}"}}',
    'invalid_template',
    'spec.tasks[1].compensate.with.y',
  ],
  [
    'a template that is none',
    '{uses: "action:plain", with: {y: "${{ 1 + 1 }}"}}',
    'invalid_template',
    'spec.tasks[1].compensate.with.y',
  ],
  ['an action that is not there', '{uses: "action:nowhere"}', 'missing_reference', 'spec.tasks[1].compensate.uses'],
  ['a router', '{uses: router}', 'schema_violation', 'spec.tasks[1].compensate.uses'],
  ['a name without a kind', '{uses: plain}', 'schema_violation', 'spec.tasks[1].compensate.uses'],
  [
    'input that its action does not take',
    '{uses: "action:write", with: {path: p, content: c, more: 1}}',
    'schema_violation',
    'spec.tasks[1].compensate.with.more',
  ],
  [
    'input that its action lacks',
    '{uses: "action:write", with: {path: p}}',
    'schema_violation',
    'spec.tasks[1].compensate.with',
  ],
  [
    'an unknown field',
    '{uses: "action:plain", when: "inputs.x == 1"}',
    'schema_violation',
    'spec.tasks[1].compensate.when',
  ],
])('refuses %s', (_, compensate, code, path) => {
  const { plan, diagnostics } = build(one(compensate))
  expect(plan).toBeNull()
  expect(diagnostics).toMatchObject([{ code, path }])
})

test('an own output is read by a compensation only', () => {
  const { diagnostics } = build('  tasks: [{id: a, uses: "action:plain", with: {y: "${{ tasks.a.output }}"}}]')
  expect(diagnostics).toMatchObject([{ code: 'invalid_template', message: expect.stringContaining('own output') }])
})

test.each(['a--compensate', 'a--compensate-2'])('a task called %s is refused beside a compensation of a', id => {
  const spec = `  tasks:\n    - {id: a, uses: "action:plain", compensate: {uses: "action:plain"}}\n    - {id: ${id}, uses: "action:plain"}`
  expect(build(spec).diagnostics).toMatchObject([{ code: 'duplicate_task', path: 'spec.tasks[0].compensate' }])
  expect(build(spec.replace(', compensate: {uses: "action:plain"}', '')).diagnostics).toEqual([])
})

test.each([
  [
    'router',
    '{id: r, uses: router, route: {select: "${{ inputs.x }}", cases: []}, compensate: {uses: "action:plain"}}',
  ],
  ['invocation', '{id: w, uses: "workflow:s", compensate: {uses: "action:plain"}}'],
])('a %s has none: what has no effect is not undone', (_, task) => {
  const subworkflows =
    '  subworkflows: {s: {version: "1", inputSchema: {}, outputSchema: {}, tasks: [{id: t, uses: "action:plain"}]}}'
  const { diagnostics } = build(`  inputs: {x: 1}\n${subworkflows}\n  tasks: [${task}]`)
  expect(diagnostics).toMatchObject([{ code: 'schema_violation', path: 'spec.tasks[0].compensate' }])
})

test('children of foreach, iterations and tasks of sub-workflows each have their own', () => {
  const { plan, diagnostics } = build(`
  subworkflows:
    s: {version: "1", inputSchema: {}, outputSchema: {}, tasks: [{id: t, uses: "action:plain", compensate: {uses: "action:plain"}}]}
  tasks:
    - {id: e, uses: "action:plain", foreach: {items: [1, 2]}, compensate: {uses: "action:plain", with: {i: "\${{ vars.item }}"}}}
    - {id: l, uses: "action:plain", loop: {maxIterations: 2, while: "vars.loopIndex < 2"}, compensate: {uses: "action:plain"}}
    - {id: w, uses: "workflow:s"}`)
  expect(diagnostics).toEqual([])
  const undone = plan?.order.flatMap(id => {
    const compensates = plan.tasks[id]?.compensate?.compensates
    return compensates === undefined ? [] : [[compensates.task === id, compensates.name]]
  })
  expect(undone).toEqual([
    [true, 'e'],
    [true, 'e'],
    [true, 'l'],
    [true, 'l'],
    [true, 'w--t'],
  ])
})
