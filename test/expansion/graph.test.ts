import { describe, expect, it } from 'vitest'
import { build, planOf, shown, workflow } from '../document/support.ts'

const head = `
  inputs: {choice: ship, list: [1, 2]}
  actions: {x: {kind: builtin.assign}, run: {kind: builtin.shell.exec, command: /bin/true}}
`
const tasks = (...list: string[]): string =>
  workflow(`${head}  tasks:\n${list.map(task => `    - {${task}}`).join('\n')}`)
const use = 'uses: "action:x"'
const messages = (text: string): string[] => build(text).diagnostics.map(({ message }) => message)

describe('loop', () => {
  const loop = (fields: string, more = ''): string => tasks(`id: a, ${use}, loop: {${fields}}${more}`)

  it('is a chain under an aggregate', () => {
    const plan = planOf(loop('maxIterations: 3, while: "${{ vars.loopIndex < 2 }}", initial: {v: 1}'))
    const [first = '', second = '', third = '', last = ''] = plan.order
    expect(last).toBe('a')
    expect([first, second, third].map(id => id.slice(0, 8))).toEqual(['a--0000-', 'a--0001-', 'a--0002-'])
    expect(plan.order.map(id => plan.tasks[id]?.needs)).toEqual([[], [first], [second], [first, second, third]])
    expect(plan.order.map(id => plan.tasks[id]?.when)).toEqual([...Array(3).fill('${{ vars.loopIndex < 2 }}'), null])
    expect(plan.order.map(id => plan.tasks[id]?.iteration)).toEqual([
      { index: 0, previous: null, initial: { v: 1 } },
      { index: 1, previous: first, initial: { v: 1 } },
      { index: 2, previous: second, initial: { v: 1 } },
      { index: 3, previous: third, initial: { v: 1 } },
    ])
    expect(plan.tasks['a']?.control).toEqual({
      kind: 'iterations',
      members: [first, second, third],
      while: '${{ vars.loopIndex < 2 }}',
    })
  })

  it.each([
    ['reads what only an iteration gives', 'maxIterations: 2, while: "${{ loop.output.output.more }}"', null],
    [
      'the same beside another initial',
      'maxIterations: 2, while: "${{ vars.loopPrevious.x == 1 }}", initial: {y: 1}',
      null,
    ],
    ['reads what initial has', 'maxIterations: 2, while: "${{ loop.output.x }}", initial: {x: 1}', 'guard'],
    [
      'reads an initial that the run gives',
      'maxIterations: 2, while: "${{ loop.output.x }}", initial: {x: "${{ inputs.choice }}"}',
      'guard',
    ],
    ['reads the whole of no initial', 'maxIterations: 2, while: "${{ loop.output == null }}"', 'guard'],
    ['reads an input', 'maxIterations: 2, while: "inputs.choice"', 'guard'],
  ])('a guard that %s', (_, fields, first) => {
    const plan = planOf(loop(fields))
    const [one, two] = plan.order.map(id => plan.tasks[id]?.when)
    expect(one ?? null).toBe(first === null ? null : two)
    expect(two).toBeTruthy()
  })

  it.each([
    ['maxIterations: 65, while: "${{ inputs.choice }}"', '', 'must be at most 64'],
    ['maxIterations: 0, while: "${{ inputs.choice }}"', '', 'must be at least 1'],
    ['maxIterations: 2', '', 'while is missing'],
    ['maxIterations: 2, while: "${{ inputs.choice }} and more"', '', 'a condition is one template'],
    ['maxIterations: 2, while: "${{ loop.index < 2 }}"', '', 'of a loop only `loop.output` can be read'],
    ['maxIterations: 2, while: "${{ tasks.a.output }}"', '', 'a task cannot read its own output'],
    [
      'maxIterations: 2, while: "${{ inputs.choice }}", initial: "${{ vars.loopIndex }}"',
      '',
      '`vars` has no `loopIndex`',
    ],
    [
      'maxIterations: 2, while: "${{ inputs.choice }}"',
      ', with: {v: "${{ loop.output }}"}',
      'in `while` of a loop only',
    ],
    [
      'maxIterations: 2, while: "${{ inputs.choice }}"',
      ', vars: {v: "${{ vars.loopPrevious }}"}',
      'cannot be made from variables',
    ],
  ])('%s%s is refused', (fields, more, message) => {
    expect(messages(loop(fields, more))).toEqual([expect.stringContaining(message)])
  })
})

describe('router', () => {
  const routed = (route: string, more = '', ship = 'needs: [r]'): string =>
    tasks(`id: r, uses: router, route: {${route}}${more}`, `id: ship, ${use}, ${ship}`, `id: hold, ${use}, needs: [r]`)

  it('is a task without an effect, and its destinations know it', () => {
    const plan = planOf(
      tasks(
        'id: r, uses: router, route: {select: "${{ inputs.choice }}", cases: [{equals: ship, tasks: [ship, each]}], default: [hold]}',
        `id: ship, ${use}, needs: [r]`,
        `id: hold, ${use}, needs: [ship2]`,
        `id: ship2, ${use}, needs: [r]`,
        `id: each, ${use}, needs: [r], foreach: {items: [1]}`,
      ),
    )
    expect(plan.tasks['r']).toMatchObject({
      action: { kind: 'router' },
      control: {
        kind: 'router',
        select: '${{ inputs.choice }}',
        cases: [{ equals: 'ship', tasks: ['ship', 'each'] }],
        default: ['hold'],
      },
    })
    const routesOf = (id: string) => plan.tasks[id]?.routes
    expect(routesOf('ship')).toEqual([{ router: 'r', destination: 'ship' }])
    expect(routesOf('hold')).toEqual([{ router: 'r', destination: 'hold' }])
    expect(routesOf('ship2')).toBeUndefined()
    const [child = ''] = plan.order.filter(id => id.startsWith('each--'))
    expect([routesOf('each'), routesOf(child)]).toEqual(Array(2).fill([{ router: 'r', destination: 'each' }]))
    expect(plan.requirements.effects.map(({ task }) => task)).not.toContain('r')
  })

  it.each([
    ['select: "${{ inputs.choice }}", cases: [{equals: a, tasks: [nobody]}]', '', 'leads to `nobody`'],
    ['select: "${{ inputs.choice }}", cases: [], default: [nobody]', '', 'leads to `nobody`'],
    ['select: "${{ inputs.choice }}", cases: [{equals: a, tasks: [r]}]', '', '`r` does not depend on router `r`'],
    [
      'select: "${{ inputs.choice }}", cases: [{equals: a, tasks: []}, {equals: a, tasks: []}]',
      '',
      'case 0 equals the same',
    ],
    ['select: "${{ inputs.choice }}", cases: [{equals: "${{ inputs.choice }}", tasks: []}]', '', '`equals` is data'],
    ['select: "${{ tasks.ship.output }}", cases: []', '', '`r` does not need `ship`'],
    ['cases: []', '', 'select is missing'],
    ['select: "${{ inputs.choice }}", cases: [{tasks: []}]', '', 'equals is missing'],
    ['select: "${{ inputs.choice }}", cases: []', ', with: {a: 1}', '`with` has no meaning for a router'],
    ['select: "${{ inputs.choice }}", cases: []', ', retry: {maxAttempts: 2}', '`retry` has no meaning for a router'],
    ['select: "${{ inputs.choice }}", cases: []', ', foreach: {items: [1]}', '`foreach` and `route` cannot'],
  ])('%s%s is refused', (route, more, message) => {
    expect(messages(routed(route, more))).toEqual([expect.stringContaining(message)])
  })

  it('whose destination runs without it is refused', () => {
    const route = 'select: "${{ inputs.choice }}", cases: [{equals: ship, tasks: [ship]}]'
    expect(build(routed(route, '', 'needs: []')).diagnostics).toMatchObject([
      {
        message: 'destination `ship` does not depend on router `r`',
        help: 'add `r` to its needs',
        path: 'spec.tasks[0].route.cases[0].tasks[0]',
      },
    ])
  })

  it('without a route, and a route without a router, are refused', () => {
    expect(messages(tasks('id: a, uses: router'))).toEqual(['router `a` has no `route`'])
    expect(messages(tasks(`id: a, ${use}, route: {select: "\${{ inputs.choice }}", cases: []}`))).toEqual([
      '`route` stands in a router only',
    ])
  })
})

describe('sub-workflow', () => {
  const document = (flows: string, ...list: string[]): string =>
    workflow(`${head}  subworkflows:\n${flows}\n  tasks:\n${list.map(task => `    - {${task}}`).join('\n')}`)
  const flow = (name: string, fields: string): string =>
    `    ${name}: {version: 1.0.0, inputSchema: {type: object}, outputSchema: true, ${fields}}`
  const inner = flow(
    'f',
    'inputs: {n: 1}, outputs: {v: "${{ tasks.b.output }}"}, tasks: [{id: a, uses: "action:x", with: {v: "${{ inputs.n }}"}}, {id: b, uses: "action:x", needs: [a], with: {v: "${{ tasks.a.output }}"}}]',
  )

  it('stands between its boundaries', () => {
    const plan = planOf(
      document(
        inner,
        `id: z, ${use}`,
        'id: s, uses: "workflow:f", needs: [z], with: {n: 2}, when: "${{ inputs.choice }}"',
        `id: e, ${use}, needs: [s], with: {v: "\${{ tasks.s.output.v }}"}`,
      ),
    )
    expect(plan.order).toEqual(['z', 's--_inputs', 's--a', 's--b', 's', 'e'])
    const scope = { inputs: 's--_inputs', prefix: 's--' }
    expect(plan.tasks['s--_inputs']).toMatchObject({
      needs: ['z'],
      when: '${{ inputs.choice }}',
      with: { n: 2 },
      control: { kind: 'inputs', subworkflow: 'f', version: '1.0.0', schema: { type: 'object' } },
    })
    expect(plan.tasks['s--_inputs']?.scope).toBeUndefined()
    expect(plan.tasks['s--a']).toMatchObject({ needs: ['s--_inputs'], scope, when: null })
    expect(plan.tasks['s--b']).toMatchObject({ needs: ['s--a'], scope, with: { v: '${{ tasks.a.output }}' } })
    expect(plan.tasks['s']).toMatchObject({
      needs: ['s--_inputs', 's--a', 's--b'],
      scope,
      with: { v: '${{ tasks.b.output }}' },
      control: { kind: 'outputs', entry: 's--_inputs', members: ['s--a', 's--b'], schema: true },
    })
  })

  it('expands within others, and within foreach and loops, and from inputs that are known', () => {
    const outer = flow(
      'outer',
      'tasks: [{id: i, uses: "workflow:f", foreach: {items: "${{ inputs.list }}", as: n}, with: {n: "${{ vars.n }}"}}, {id: l, uses: "workflow:f", loop: {maxIterations: 2, while: "${{ vars.loopIndex < 1 }}"}}]',
    )
    const plan = planOf(
      document(`${inner}\n${outer}`, 'id: s, uses: "workflow:outer", with: {list: "${{ inputs.list }}"}'),
    )
    const names = plan.order.map(id => id.replaceAll(/-[0-9a-f]{12}/g, '-D'))
    const block = (id: string): string[] => [`${id}--_inputs`, `${id}--a`, `${id}--b`, id]
    expect(names).toEqual([
      's--_inputs',
      ...block('s--i--0000-D'),
      ...block('s--i--0001-D'),
      's--i',
      ...block('s--l--0000-D'),
      ...block('s--l--0001-D'),
      's--l',
      's',
    ])
    const [, child = ''] = plan.order
    expect(plan.tasks[child]).toMatchObject({
      bindings: { n: 1, foreachIndex: 0 },
      scope: { inputs: 's--_inputs', prefix: 's--' },
    })
  })

  it('whose items come from the run is refused, where and for which invocation', () => {
    const each = flow('f', 'tasks: [{id: a, uses: "action:x", foreach: {items: "${{ inputs.list }}"}}]')
    const text = document(
      each,
      `id: z, ${use}`,
      'id: s, uses: "workflow:f", needs: [z], with: {list: "${{ tasks.z.output.list }}"}',
    )
    expect(build(text).diagnostics).toMatchObject([
      {
        path: 'spec.subworkflows.f.tasks[0].foreach.items',
        message: expect.stringMatching(/must be known before the run exists.*\(in `s`\)/),
      },
    ])
  })

  it.each([
    [
      'two that use each other',
      [flow('f', 'tasks: [{id: a, uses: "workflow:g"}]'), flow('g', 'tasks: [{id: a, uses: "workflow:f"}]')].join('\n'),
      'circle: f -> g -> f',
    ],
    ['one that uses itself', flow('f', 'tasks: [{id: a, uses: "workflow:f"}]'), 'circle: f -> f'],
    [
      'an unknown input',
      flow('f', 'tasks: [{id: a, uses: "action:x", with: {v: "${{ inputs.none }}"}}]'),
      'sub-workflow `f` has no input `none`',
    ],
    [
      'a task outside',
      flow('f', 'tasks: [{id: a, uses: "action:x", with: {v: "${{ tasks.z.output }}"}}]'),
      'there is no task `z`',
    ],
    [
      'a need outside',
      flow('f', 'tasks: [{id: a, uses: "action:x", needs: [z]}]'),
      'task `a` needs `z`, which is not declared',
    ],
    [
      'a circle of tasks',
      flow('f', 'tasks: [{id: a, uses: "action:x", needs: [b]}, {id: b, uses: "action:x", needs: [a]}]'),
      'circle: a -> b -> a',
    ],
    [
      'an output that nothing gives',
      flow('f', 'outputs: {v: "${{ tasks.none.output }}"}, tasks: [{id: a, uses: "action:x"}]'),
      'there is no task `none`',
    ],
    [
      'a template among its defaults',
      flow('f', 'inputs: {n: "${{ inputs.choice }}"}, tasks: [{id: a, uses: "action:x"}]'),
      'a default input is data',
    ],
    [
      'a schema that is none',
      flow('f', 'tasks: [{id: a, uses: "action:x"}]').replace('{type: object}', '{type: thing}'),
      '`type` must be',
    ],
    [
      'no version',
      flow('f', 'tasks: [{id: a, uses: "action:x"}]').replace('version: 1.0.0, ', ''),
      'version is missing',
    ],
    ['no tasks', flow('f', 'tasks: []'), 'must have at least 1 entry'],
    [
      'a task twice',
      flow('f', 'tasks: [{id: a, uses: "action:x"}, {id: a, uses: "action:x"}]'),
      'task `a` is declared twice',
    ],
  ])('with %s is refused', (_, flows, message) => {
    expect(messages(document(flows, `id: z, ${use}`, 'id: s, uses: "workflow:f", needs: [z]'))).toContainEqual(
      expect.stringContaining(message),
    )
  })

  it.each([
    ['with: {n: 1}', 'n must be string|type'],
    ['with: {n: x, more: 1}', 'more'],
    ['needs: []', 'n'],
  ])('checks what is known of its inputs before the run: %s', (fields, part) => {
    const typed = flow('f', 'tasks: [{id: a, uses: "action:x"}]').replace(
      '{type: object}',
      '{type: object, required: [n], additionalProperties: false, properties: {n: {type: string}}}',
    )
    expect(planOf(document(typed, 'id: s, uses: "workflow:f", with: {n: x}')).order).toHaveLength(3)
    const found = messages(document(typed, `id: s, uses: "workflow:f", ${fields}`))
    expect(found.join('\n')).toMatch(new RegExp(`sub-workflow \`f\`.*(${part})|(${part}).*sub-workflow \`f\``))
  })

  it.each([
    ['retry: {maxAttempts: 2}', 'retry'],
    ['timeoutSeconds: 5', 'timeoutSeconds'],
    ['memoryWrites: [k]', 'memoryWrites'],
  ])('%s has no meaning at an invocation', (field, name) => {
    expect(messages(document(inner, `id: s, uses: "workflow:f", ${field}`))).toEqual([
      `\`${name}\` has no meaning for a sub-workflow`,
    ])
  })

  it('counts an unused one as declared only, and names its faults all the same', () => {
    const agents = flow('f', 'tasks: [{id: a, uses: "agent:x"}]')
    const text = document(agents, `id: z, ${use}`).replace(
      '  actions:',
      '  providers: {p: {kind: fake}}\n  agents: {x: {provider: p, model: m}}\n  actions:',
    )
    expect(build(text).diagnostics).toEqual([])
    expect(messages(text.replace('- {id: z, uses: "action:x"}', '- {id: z, uses: "workflow:f"}'))).toEqual([
      'this version of agentctl does not run agents',
    ])
    expect(messages(document(flow('f', 'tasks: [{id: a, uses: "action:gone"}]'), `id: z, ${use}`))).toEqual([
      'spec.actions has no `gone`',
    ])
  })

  it('gives `failure: continue` of an invocation to all that it stands for', () => {
    const plan = planOf(document(inner, 'id: s, uses: "workflow:f", failure: continue'))
    expect(plan.order.map(id => plan.tasks[id]?.failure)).toEqual(Array(4).fill('continue'))
  })

  it('that would expand to more than a plan holds is refused in time', () => {
    const nested = [
      flow('f', 'tasks: [{id: a, uses: "action:x", foreach: {items: "${{ inputs.l }}", maxItems: 256}}]'),
      ...[1, 2, 3].map(level =>
        flow(
          `f${level}`,
          `tasks: [{id: a, uses: "workflow:f${level === 1 ? '' : level - 1}", foreach: {items: "\${{ inputs.l }}", maxItems: 256}, with: {l: "\${{ inputs.l }}"}}]`,
        ),
      ),
    ].join('\n')
    const list = Array.from({ length: 256 }, (_, index) => index).join(', ')
    const before = process.cpuUsage()
    expect(messages(document(nested, `id: s, uses: "workflow:f3", with: {l: [${list}]}`))).toEqual([
      'the tasks expand to more than 20000',
    ])
    expect(process.cpuUsage(before).user).toBeLessThan(5e6)
  })

  it('whose processes leave what is lost at a pause is told so, once for each', () => {
    const text = document(
      flow('f', 'tasks: [{id: a, uses: "action:run"}, {id: b, uses: "action:run", needs: [a]}]'),
      'id: s, uses: "workflow:f", foreach: {items: [1, 2]}',
    )
    expect(shown(build(text).diagnostics).filter(line => line.includes('workspace_not_captured'))).toHaveLength(2)
  })
})
