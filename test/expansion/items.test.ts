import { describe, expect, it } from 'vitest'
import { digest } from '../../policy/canonical.ts'
import { parseFloor } from '../../policy/decision/index.ts'
import type { Json } from '../../policy/json.ts'
import { build, type Options, planOf, shown, workflow } from '../document/support.ts'

const head = `
  inputs: {list: [a, {n: 1}, null], empty: [], text: x, nested: {list: [1, 2]}}
  vars: {regions: [eu, us], item: spec}
  actions: {x: {kind: builtin.assign}, w: {kind: builtin.memory.write}}
`
const one = (fields: string, more = ''): string =>
  workflow(`${head}${more}  tasks: [{id: a, uses: "action:x", ${fields}}]`)
const bindingsOf = (fields: string, options: Options = {}): Json[] => {
  const plan = planOf(one(fields), options)
  return plan.order.flatMap(id => plan.tasks[id]?.bindings ?? [])
}

describe('foreach', () => {
  it.each<[string, Json[]]>([
    ['{items: [1, x, {k: v}, [2], null, true]}', [1, 'x', { k: 'v' }, [2], null, true]],
    ['{items: "${{ inputs.list }}"}', ['a', { n: 1 }, null]],
    ['{items: "${{ inputs.nested.list }}"}', [1, 2]],
    ['{items: "${{ vars.regions }}"}', ['eu', 'us']],
    ['{items: ["${{ inputs.text }}", "-${{ inputs.text }}-", "${{ inputs.text == \'x\' }}"]}', ['x', '-x-', true]],
    ['{items: []}', []],
    ['{items: "${{ inputs.empty }}"}', []],
  ])('%s', (foreach, items) => {
    expect(bindingsOf(`foreach: ${foreach}`)).toEqual(items.map((item, foreachIndex) => ({ item, foreachIndex })))
  })

  it("reads the task's own variables, and what --vars-file and inputs replace", () => {
    const own = 'vars: {mine: ["${{ inputs.text }}"]}, foreach: {items: "${{ vars.mine }}", as: it}'
    expect(bindingsOf(own, { inputs: { text: 'given' } })).toEqual([{ it: 'given', foreachIndex: 0 }])
    const regions = 'foreach: {items: "${{ vars.regions }}", as: it}'
    expect(bindingsOf(regions, { vars: { regions: ['ap'] } })).toEqual([{ it: 'ap', foreachIndex: 0 }])
  })

  it('names children by index and binding, aggregates under the id of the task, and keeps the order', () => {
    const plan = planOf(
      workflow(`${head}
  tasks:
    - {id: first, uses: "action:x"}
    - {id: each, uses: "action:x", needs: [first], foreach: {items: [p, q]}, failure: continue, with: {v: "\${{ vars.item }}"}}
    - {id: last, uses: "action:x", needs: [each], with: {all: "\${{ tasks.each.output.items }}"}}`),
    )
    const child = (index: number, item: string): string =>
      `each--000${index}-${digest({ item, foreachIndex: index }).slice(0, 12)}`
    const members = [child(0, 'p'), child(1, 'q')]
    expect(plan.order).toEqual(['first', ...members, 'each', 'last'])
    expect(plan.tasks[members[1] ?? '']).toMatchObject({
      needs: ['first'],
      failure: 'continue',
      bindings: { item: 'q', foreachIndex: 1 },
      with: { v: '${{ vars.item }}' },
      source: plan.tasks['each']?.source,
    })
    expect(plan.tasks['each']).toMatchObject({
      needs: ['first', ...members],
      failure: 'continue',
      control: { kind: 'items', members },
      action: { kind: 'foreach', effectClass: 'pure', process: null },
    })
    expect(plan.requirements.effects.map(({ task }) => task)).toEqual(['first', ...members, 'last'])
  })

  it('takes what an item holds as data, whatever it looks like', () => {
    const plan = planOf(one('foreach: {items: "${{ inputs.list }}"}, with: {v: "${{ vars.item }}"}'), {
      inputs: { list: ['${{ inputs.text }}'] },
    })
    expect(plan.order.map(id => plan.tasks[id]?.bindings)[0]).toEqual({ item: '${{ inputs.text }}', foreachIndex: 0 })
  })

  it.each([
    ['items: "${{ tasks.b.output.list }}"', 'known in the run only', 'invalid_template'],
    ['items: ["${{ memory.k }}"]', 'known in the run only', 'invalid_template'],
    ['items: "${{ inputs.text }}"', 'does not give a list', 'schema_violation'],
    ['items: plain', 'must be a list, or a template that gives one', 'schema_violation'],
    ['items: "${{ inputs.none }}"', 'input `none` has no value', 'invalid_template'],
    ['items: "${{ vars.none }}"', '`vars` has no `none`', 'invalid_template'],
    ['items: "${{ vars.foreachIndex }}"', '`vars` has no `foreachIndex`', 'invalid_template'],
    ['items: [1, 2, 3], maxItems: 2', '3 items are more than maxItems (2)', 'schema_violation'],
    ['items: [1], maxItems: 257', 'must be at most 256', 'schema_violation'],
    ['items: [1], maxItems: 0', 'must be at least 1', 'schema_violation'],
    ['items: [1], as: 1x', 'spec.tasks[0].foreach.as', 'schema_violation'],
    ['items: [1], as: foreachIndex', '`foreachIndex` cannot name the item', 'schema_violation'],
    ['items: [1], as: __proto__', '`__proto__` cannot name the item', 'schema_violation'],
    ['items: [1], other: 1', 'unknown field `other`', 'schema_violation'],
  ])('%s is refused', (foreach, message, code) => {
    const { plan, diagnostics } = build(
      one(`needs: [b], foreach: {${foreach}}`).replace(']\n', ', {id: b, uses: "action:x"}]\n'),
    )
    expect(plan).toBeNull()
    expect(diagnostics).toMatchObject([{ code, line: expect.any(Number) }])
    expect(diagnostics[0]?.message).toContain(message)
  })

  it('takes 32 items unless it says more, 256 at most', () => {
    const items = (count: number, more = ''): string =>
      `foreach: {items: [${Array.from({ length: count }, (_, index) => index).join(', ')}]${more}}`
    expect(planOf(one(items(32))).order).toHaveLength(33)
    expect(shown(build(one(items(33))).diagnostics)[0]).toContain('33 items are more than maxItems (32)')
    expect(planOf(one(items(256, ', maxItems: 256'))).order).toHaveLength(257)
    expect(shown(build(one(items(257, ', maxItems: 256'))).diagnostics)[0]).toContain('257 items are more than')
  })

  it('only warns in a check without inputs', () => {
    const { plan, diagnostics } = build(one('foreach: {items: "${{ inputs.none }}"}'), { requireInputs: false })
    expect(plan?.order).toEqual(['a'])
    expect(diagnostics).toMatchObject([{ severity: 'warning', code: 'invalid_template' }])
  })
})

describe('matrix', () => {
  it('makes every combination, axes by name, values as declared', () => {
    const rows = bindingsOf('matrix: {axes: {z: [1, 2], b: [y, x], m: "${{ inputs.nested.list }}"}}')
    expect(rows.slice(0, 3)).toEqual([
      { matrix: { b: 'y', m: 1, z: 1 }, matrixIndex: 0 },
      { matrix: { b: 'y', m: 1, z: 2 }, matrixIndex: 1 },
      { matrix: { b: 'y', m: 2, z: 1 }, matrixIndex: 2 },
    ])
    expect(rows).toHaveLength(8)
    expect(rows.at(-1)).toEqual({ matrix: { b: 'x', m: 2, z: 2 }, matrixIndex: 7 })
  })

  it('is the same whatever the order of its axes in the document', () => {
    const left = planOf(one('matrix: {axes: {a: [1], b: [2, 3]}}'))
    const right = planOf(one('matrix: {axes: {b: [2, 3], a: [1]}}'))
    expect(right.planDigest).toBe(left.planDigest)
  })

  it.each([
    ['axes: {}', 'a matrix has at least one axis'],
    ['axes: {a: [1], b: []}', 'axis `b` has no values'],
    ['axes: {a: "${{ inputs.empty }}"}', 'axis `a` has no values'],
    ['axes: {a: [1, 2, 3], b: [1, 2]}, maxItems: 5', '6 items are more than maxItems (5)'],
    ['axes: {"a.b": [1]}', 'no template can read an axis named `a.b`'],
    ['axes: {a: "${{ memory.k }}"}', 'known in the run only'],
    ['axes: {a: 1}', 'must be a list, or a template that gives one'],
  ])('%s is refused', (matrix, message) => {
    const { plan, diagnostics } = build(one(`matrix: {${matrix}}`))
    expect(plan).toBeNull()
    expect(shown(diagnostics)).toEqual([expect.stringContaining(message)])
  })

  it('that would fill the memory is refused before it is made', () => {
    const axes = Array.from({ length: 30 }, (_, index) => `a${index}: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]`).join(', ')
    expect(shown(build(one(`matrix: {axes: {${axes}}, maxItems: 256}`)).diagnostics)).toEqual([
      expect.stringContaining('1000 items are more than maxItems (256)'),
    ])
  })
})

describe('bindings', () => {
  it.each([
    ['foreach: {items: [1]}, vars: {item: 2}', 'variable `item` would hide what the expansion of `a` binds'],
    ['foreach: {items: [1], as: it}, vars: {foreachIndex: 2}', 'variable `foreachIndex` would hide'],
    ['matrix: {axes: {p: [1]}}, vars: {matrix: 2}', 'variable `matrix` would hide'],
    ['matrix: {axes: {p: [1]}}, vars: {matrixIndex: 2}', 'variable `matrixIndex` would hide'],
    ['loop: {maxIterations: 1, while: "${{ inputs.text }}"}, vars: {loopIndex: 2}', 'variable `loopIndex` would hide'],
    ['loop: {maxIterations: 1, while: "${{ inputs.text }}"}, vars: {loopPrevious: 2}', '`loopPrevious` would hide'],
    ['foreach: {items: [1]}, matrix: {axes: {p: [1]}}', '`foreach` and `matrix` cannot stand in one task'],
    ['foreach: {items: [1]}, loop: {maxIterations: 1, while: "${{ inputs.text }}"}', '`foreach` and `loop` cannot'],
    ['matrix: {axes: {p: [1]}}, with: {v: "${{ vars.matrix.q }}"}', '`vars.matrix` has no `q`'],
    ['foreach: {items: [1], as: it}, with: {v: "${{ vars.matrixIndex }}"}', '`vars` has no `matrixIndex`'],
    ['with: {v: "${{ vars.foreachIndex }}"}', '`vars` has no `foreachIndex`'],
    ['loop: {maxIterations: 1, while: "${{ inputs.text }}"}, when: "${{ inputs.text }}"', '`loop` and `when` cannot'],
  ])('%s is refused', (fields, message) => {
    const { plan, diagnostics } = build(one(fields))
    expect(plan).toBeNull()
    expect(diagnostics.map(found => found.message)).toContainEqual(expect.stringContaining(message))
  })

  it('hide a variable of the document, and may stand in variables of the task', () => {
    const plan = planOf(
      one('foreach: {items: [mine]}, vars: {made: "out/${{ vars.item }}"}, with: {v: "${{ vars.item }}"}'),
    )
    expect(plan.tasks[plan.order[0] ?? '']).toMatchObject({ vars: { made: 'out/${{ vars.item }}' } })
  })

  it('are not hidden by --vars-file', () => {
    expect(shown(build(one('foreach: {items: [1]}'), { vars: { item: 2 } }).diagnostics)).toEqual([
      expect.stringContaining('`item` of --vars-file would hide'),
    ])
  })
})

describe('expanded tasks', () => {
  it('that write one memory key at once are refused, once for the task that expands', () => {
    const text = (key: string, more: string): string =>
      workflow(`${head}
  runtime: {maxConcurrency: 4}
  tasks:
    - {id: a, uses: "action:w", ${more} with: {key: "${key}", value: 1}}`)
    const foreach = 'foreach: {items: [x, y, z]},'
    expect(shown(build(text('k', foreach)).diagnostics)).toEqual([
      expect.stringMatching(/^\d+:\d+ schema_violation tasks `a--0000-\w+` and `a--0001-\w+` both write memory `k`/),
    ])
    const plan = planOf(text('k-${{ vars.item }}', foreach))
    expect(plan.order.map(id => plan.tasks[id]?.memoryWrites)).toEqual([['k-x'], ['k-y'], ['k-z'], []])
    expect(planOf(text('k', 'loop: {maxIterations: 3, while: "${{ vars.loopIndex < 2 }}"},')).order).toHaveLength(4)
  })

  it('count against maxExpansionItems, of the document and of the floor', () => {
    const fields = 'foreach: {items: [1, 2, 3]}'
    const budget = (limit: number): string => `  runtime: {budgets: {maxExpansionItems: ${limit}}}\n`
    expect(planOf(one(fields, budget(3))).budgets).toEqual({ maxExpansionItems: 3 })
    expect(build(one(fields, budget(2))).diagnostics).toMatchObject([
      {
        code: 'schema_violation',
        path: 'spec.runtime.budgets.maxExpansionItems',
        message: expect.stringContaining('3 items'),
      },
    ])
    const parsed = parseFloor(
      {
        apiVersion: 'agentctl.dev/v1',
        kind: 'SecurityFloor',
        metadata: { name: 'f' },
        spec: { limits: { maxExpansionItems: 2 } },
      },
      'organisation',
    )
    const { floor } = parsed.ok ? parsed : { floor: null }
    expect(build(one(fields), { floor }).diagnostics).toMatchObject([{ code: 'floor_violation' }])
  })

  it('whose ids meet declared ones, or grow too long, are refused', () => {
    const child = `a--0000-${digest({ item: 1, foreachIndex: 0 }).slice(0, 12)}`
    const clash = workflow(`${head}
  tasks:
    - {id: a, uses: "action:x", foreach: {items: [1]}}
    - {id: ${child}, uses: "action:x"}`)
    expect(build(clash).diagnostics).toMatchObject([
      { code: 'duplicate_task', message: expect.stringContaining(child) },
    ])
    const long = one('foreach: {items: [1]}').replace('id: a,', `id: ${'i'.repeat(190)},`)
    expect(shown(build(long).diagnostics)).toEqual([expect.stringContaining('an expanded id has at most 200')])
  })

  it('keep the plan a pure function: the same bytes twice, another digest for another item', () => {
    const plan = (item: string) => planOf(one(`foreach: {items: [${item}]}, with: {v: "\${{ vars.item }}"}`))
    expect(JSON.stringify(plan('p'))).toBe(JSON.stringify(plan('p')))
    expect(plan('q').planDigest).not.toBe(plan('p').planDigest)
  })
})
