import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../policy/json.ts'
import { createScene, freely, getFile, planOf, type Scene, start, write } from '../runner/support.ts'
import { processes, recordOf, sh, short, statesOf } from './support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const assign = { kind: 'builtin.assign' }
const assert = { kind: 'builtin.assert' }
const actions = { assign, assert }
const run = (spec: JsonObject, inputs: JsonObject = {}) =>
  start(scene, planOf({ actions, ...spec } as JsonObject, inputs))

describe('foreach and matrix', () => {
  it('give each child its binding, and their aggregate every result in order', async () => {
    const outcome = await run({
      outputs: { items: '${{ tasks.each.output.items }}', cells: '${{ tasks.grid.output.items }}' },
      tasks: [
        {
          id: 'each',
          uses: 'action:assign',
          foreach: { items: ['a', { n: [1] }] },
          vars: { made: 'of ${{ vars.foreachIndex }}' },
          with: { item: '${{ vars.item }}', made: '${{ vars.made }}' },
        },
        {
          id: 'grid',
          uses: 'action:assign',
          matrix: { axes: { x: [1, 2], y: ['u'] } },
          with: { x: '${{ vars.matrix.x }}', all: '${{ vars.matrix }}', index: '${{ vars.matrixIndex }}' },
        },
      ],
    })
    const { items, cells } = outcome.outputs as { items: JsonObject[]; cells: JsonObject[] }
    expect(items).toMatchObject([
      { index: 0, state: 'succeeded', error: null, output: { output: { item: 'a', made: 'of 0' } } },
      { index: 1, state: 'succeeded', error: null, output: { output: { item: { n: [1] }, made: 'of 1' } } },
    ])
    expect(items.map(({ taskId }) => short(String(taskId)))).toEqual(['each--0000', 'each--0001'])
    expect(cells).toMatchObject([
      { output: { output: { x: 1, all: { x: 1, y: 'u' }, index: 0 } } },
      { output: { output: { x: 2, all: { x: 2, y: 'u' }, index: 1 } } },
    ])
  })

  it('take an item as data: a template in it is never read', async () => {
    const spec = {
      outputs: { items: '${{ tasks.each.output.items }}' },
      inputs: { list: [], secret: 's' },
      tasks: [
        {
          id: 'each',
          uses: 'action:assign',
          foreach: { items: '${{ inputs.list }}' },
          with: { v: '${{ vars.item }}' },
        },
      ],
    }
    const outcome = await run(spec, { list: ['${{ inputs.secret }}'] })
    expect(outcome.outputs).toMatchObject({ items: [{ output: { output: { v: '${{ inputs.secret }}' } } }] })
  })

  it('with `failure: continue` go on after a failed child; the aggregate fails, what needs it does not run', async () => {
    const outcome = await run({
      tasks: [
        {
          id: 'each',
          uses: 'action:assert',
          foreach: { items: [true, false, true] },
          failure: 'continue',
          with: { that: '${{ vars.item }}', message: 'not so' },
        },
        { id: 'deploy', uses: 'action:assign', needs: ['each'] },
        { id: 'beside', uses: 'action:assign' },
      ],
    })
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    const tasks = recordOf(scene, outcome)
    expect(Object.fromEntries(Object.entries(tasks).map(([id, { state }]) => [id, state]))).toEqual({
      'each--0000': 'succeeded',
      'each--0001': 'failed',
      'each--0002': 'succeeded',
      each: 'failed',
      deploy: 'cancelled',
      beside: 'succeeded',
    })
    expect(tasks['each']?.output['items']).toMatchObject([
      { state: 'succeeded' },
      { state: 'failed', output: null, error: { code: 'assertion_failed', message: 'not so' } },
      { state: 'succeeded', error: null },
    ])
    expect(tasks['each']?.error?.message).toMatch(/^1 of 3 did not succeed: each--0001-\w+ failed$/)
  })

  it('stop the run at a failed child otherwise', async () => {
    const outcome = await run({
      tasks: [
        { id: 'each', uses: 'action:assert', foreach: { items: [false, true] }, with: { that: '${{ vars.item }}' } },
      ],
    })
    expect(statesOf(scene, outcome)).toEqual({ 'each--0000': 'failed', 'each--0001': 'cancelled', each: 'failed' })
    expect(recordOf(scene, outcome)['each']?.output['items']).toMatchObject([
      { index: 0, state: 'failed', error: { code: 'assertion_failed' } },
      { index: 1, state: 'cancelled' },
    ])
  })

  it('a denied child ends the run as denied, not as failed', async () => {
    const outcome = await run({
      policy: { ...freely },
      actions: { write },
      tasks: [
        {
          id: 'each',
          uses: 'action:write',
          failure: 'continue',
          foreach: { items: ['out/a', 'elsewhere/b'] },
          with: { path: '${{ vars.item }}', content: 'x' },
        },
      ],
    })
    expect(outcome).toMatchObject({ state: 'denied', exitCode: 3 })
    expect(statesOf(scene, outcome)).toEqual({ 'each--0000': 'succeeded', 'each--0001': 'denied', each: 'denied' })
    expect([getFile(scene, 'out/a'), getFile(scene, 'elsewhere/b')]).toEqual(['x', null])
  })

  it('decide `when` for each child; all skipped is skipped, one that runs is not', async () => {
    const each = (id: string, items: Json[]): JsonObject => ({
      id,
      uses: 'action:assign',
      foreach: { items },
      when: '${{ vars.item > 1 }}',
    })
    const outcome = await run({
      outputs: { none: '${{ tasks.none.output.reason }}', empty: '${{ tasks.empty.output.items }}' },
      tasks: [
        each('some', [1, 2]),
        each('none', [0, 1]),
        each('empty', []),
        { id: 'after-some', uses: 'action:assign', needs: ['some'] },
        { id: 'after-none', uses: 'action:assign', needs: ['none'] },
      ],
    })
    expect(outcome).toMatchObject({ state: 'succeeded', outputs: { none: 'every item was skipped', empty: [] } })
    expect(statesOf(scene, outcome)).toEqual({
      'some--0000': 'skipped',
      'some--0001': 'succeeded',
      some: 'succeeded',
      'none--0000': 'skipped',
      'none--0001': 'skipped',
      none: 'skipped',
      empty: 'succeeded',
      'after-some': 'succeeded',
      'after-none': 'skipped',
    })
  })

  it('hold each output to the schema of the task', async () => {
    const outcome = await run({
      tasks: [
        {
          id: 'each',
          uses: 'action:assign',
          failure: 'continue',
          foreach: { items: [1, 'x'] },
          with: { n: '${{ vars.item }}' },
          outputSchema: { properties: { output: { properties: { n: { type: 'number' } } } } },
        },
      ],
    })
    const tasks = recordOf(scene, outcome)
    expect(tasks['each--0001']).toMatchObject({ state: 'failed', error: { code: 'output_schema' } })
    expect(tasks['each']?.state).toBe('failed')
  })
})

describe('loop', () => {
  const loop = (fields: JsonObject, more: JsonObject = {}): JsonObject => ({
    outputs: { n: '${{ tasks.l.output.iterations }}', items: '${{ tasks.l.output.items }}' },
    tasks: [
      {
        id: 'l',
        uses: 'action:assign',
        loop: fields,
        with: { index: '${{ vars.loopIndex }}', previous: '${{ vars.loopPrevious }}' },
        ...more,
      },
    ],
  })

  it('hands each iteration the whole output before it, and ends when its guard is false', async () => {
    const outcome = await run(loop({ maxIterations: 4, while: '${{ vars.loopIndex < 2 }}', initial: { seed: 1 } }))
    const { n, items } = outcome.outputs as { n: number; items: { state: string; output: { output: JsonObject } }[] }
    expect(n).toBe(2)
    expect(items.map(({ state }) => state)).toEqual(['succeeded', 'succeeded', 'skipped', 'skipped'])
    expect(items[0]?.output.output).toEqual({ index: 0, previous: { seed: 1 } })
    expect(items[1]?.output.output).toMatchObject({ index: 1, previous: { output: { index: 0 } } })
  })

  it('reads the iteration before in its guard', async () => {
    const fields = { maxIterations: 5, while: '${{ loop.output.output.index < 2 }}' }
    expect(await run(loop(fields))).toMatchObject({ state: 'succeeded', outputs: { n: 3 } })
  })

  it('that never begins has succeeded with nothing', async () => {
    const outcome = await run(loop({ maxIterations: 2, while: '${{ vars.loopIndex < 0 }}' }))
    expect(outcome).toMatchObject({ state: 'succeeded', outputs: { n: 0 } })
  })

  it.each([
    ['still true', { maxIterations: 2, while: '${{ vars.loopIndex < 5 }}' }, 'loop_exhausted'],
    ['that cannot be read', { maxIterations: 2, while: '${{ loop.output.absent }}' }, 'invalid_template'],
  ])('whose guard is %s fails closed', async (_, fields, code) => {
    const outcome = await run(loop(fields))
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4, outputs: null })
    expect(outcome.messages.join('\n')).toContain(code)
  })

  it('ends exactly where the guard turns false with its last iteration', async () => {
    const outcome = await run(loop({ maxIterations: 2, while: '${{ vars.loopIndex < 2 }}' }))
    expect(outcome).toMatchObject({ state: 'succeeded', outputs: { n: 2 } })
  })

  it('runs no iteration after a failed one', async () => {
    const outcome = await run({
      tasks: [
        {
          id: 'l',
          uses: 'action:assert',
          failure: 'continue',
          loop: { maxIterations: 3, while: '${{ vars.loopIndex < 3 }}' },
          with: { that: '${{ vars.loopIndex < 1 }}' },
        },
        { id: 'other', uses: 'action:assign' },
      ],
    })
    expect(statesOf(scene, outcome)).toEqual({
      'l--0000': 'succeeded',
      'l--0001': 'failed',
      'l--0002': 'cancelled',
      l: 'failed',
      other: 'succeeded',
    })
  })
})

describe('router', () => {
  const routed = (select: string, cases: JsonObject[], otherwise: string[] = []): JsonObject => ({
    inputs: { choice: 'b', number: 1, flag: true },
    outputs: { route: '${{ tasks.r.output }}', a: '${{ tasks.a.output }}', b: '${{ tasks.b.output }}' },
    tasks: [
      { id: 'r', uses: 'router', route: { select, cases, default: otherwise } },
      { id: 'a', uses: 'action:assign', needs: ['r'] },
      { id: 'b', uses: 'action:assign', needs: ['r'] },
      { id: 'after-a', uses: 'action:assign', needs: ['a'] },
      { id: 'free', uses: 'action:assign', needs: ['r'] },
    ],
  })
  const taken = (spec: JsonObject) => run(spec).then(outcome => statesOf(scene, outcome))

  it.each<[string, JsonObject[], string[], 'a' | 'b' | null]>([
    [
      '${{ inputs.choice }}',
      [
        { equals: 'a', tasks: ['a'] },
        { equals: 'b', tasks: ['b'] },
      ],
      [],
      'b',
    ],
    ['${{ inputs.choice }}', [{ equals: 'a', tasks: ['a'] }], ['b'], 'b'],
    [
      '${{ inputs.number }}',
      [
        { equals: '1', tasks: ['a'] },
        { equals: 1, tasks: ['b'] },
      ],
      [],
      'b',
    ],
    [
      "${{ inputs.choice == 'b' }}",
      [
        { equals: true, tasks: ['b'] },
        { equals: false, tasks: ['a'] },
      ],
      [],
      'b',
    ],
    ['is-${{ inputs.choice }}', [{ equals: 'is-b', tasks: ['a'] }], ['b'], 'a'],
    ['${{ inputs.choice }}', [{ equals: 'z', tasks: ['a', 'b'] }], [], null],
  ])('%s over %j, else %j', async (select, cases, otherwise, chosen) => {
    const states = await taken(routed(select, cases, otherwise))
    const named = (id: string) => cases.some(({ tasks }) => (tasks as string[]).includes(id)) || otherwise.includes(id)
    const expected = (id: string) => (id === chosen || !named(id) ? 'succeeded' : 'skipped')
    expect(states).toEqual({
      r: 'succeeded',
      a: expected('a'),
      b: expected('b'),
      'after-a': expected('a'),
      free: 'succeeded',
    })
  })

  it('tells what it selected, and its unselected destinations why they were skipped', async () => {
    const cases = [{ equals: 'a', tasks: ['a'] }]
    const outcome = await run(routed('${{ inputs.choice }}', cases, ['b']))
    expect(outcome.outputs).toMatchObject({
      route: { selected: 'b', matched: false, destinations: ['b'] },
      a: { reason: 'router r did not choose a', router: 'r', selected: 'b' },
      b: { status: 'unchanged' },
    })
  })

  it('skips every part of an unselected task, and what needs a router that was skipped', async () => {
    const outcome = await run({
      outputs: { each: '${{ tasks.each.output.router }}', flow: '${{ tasks.flow.output.router }}' },
      subworkflows: {
        f: { version: '1', inputSchema: true, outputSchema: true, tasks: [{ id: 'i', uses: 'action:assign' }] },
      },
      tasks: [
        { id: 'r', uses: 'router', route: { select: 'x', cases: [{ equals: 'y', tasks: ['each', 'flow', 'l'] }] } },
        { id: 'each', uses: 'action:assign', needs: ['r'], foreach: { items: [1] } },
        { id: 'flow', uses: 'workflow:f', needs: ['r'] },
        {
          id: 'l',
          uses: 'action:assign',
          needs: ['r'],
          loop: { maxIterations: 1, while: '${{ vars.loopIndex < 1 }}' },
        },
        { id: 'r2', uses: 'router', needs: ['each'], route: { select: 'x', cases: [{ equals: 'x', tasks: ['t'] }] } },
        { id: 't', uses: 'action:assign', needs: ['r2'] },
      ],
    })
    expect(outcome).toMatchObject({ state: 'succeeded', outputs: { each: 'r', flow: 'r' } })
    const { r, ...rest } = statesOf(scene, outcome)
    expect(r).toBe('succeeded')
    expect(new Set(Object.values(rest))).toEqual(new Set(['skipped']))
  })
})

describe('sub-workflow', () => {
  const text = { type: 'object', required: ['v'], properties: { v: { type: 'string' } } }
  const flow = (more: JsonObject = {}): JsonObject => ({
    version: '2.1.0',
    inputs: { suffix: '!' },
    inputSchema: text,
    outputSchema: text,
    outputs: { v: '${{ tasks.b.output.output.v }}' },
    tasks: [
      { id: 'a', uses: 'action:assign', with: { v: '${{ inputs.v }}${{ inputs.suffix }}' } },
      { id: 'b', uses: 'action:assign', needs: ['a'], with: { v: '${{ tasks.a.output.output.v }}' } },
    ],
    ...more,
  })
  const invoked = (given: unknown, more: JsonObject = {}, definition: JsonObject = {}): JsonObject => ({
    inputs: { v: 1 },
    outputs: { out: '${{ tasks.s.output }}' },
    subworkflows: { f: flow(definition) },
    tasks: [
      { id: 'first', uses: 'action:assign', with: { v: given as string } },
      { id: 's', uses: 'workflow:f', needs: ['first'], with: { v: '${{ tasks.first.output.output.v }}' }, ...more },
      { id: 'last', uses: 'action:assign', needs: ['s'], with: { v: '${{ tasks.s.output }}' } },
    ],
  })

  it('reads its own inputs and tasks, and gives its own outputs', async () => {
    expect(await run(invoked('x'))).toMatchObject({ state: 'succeeded', outputs: { out: { v: 'x!' } } })
  })

  it.each([
    ['an input of another type', invoked(1), 's--_inputs', 'invalid_input', 'inputSchema of sub-workflow f 2.1.0'],
    [
      'an output of another type',
      invoked('x', {}, { outputs: { v: 1 } }),
      's',
      'output_schema',
      'outputSchema of sub-workflow f 2.1.0',
    ],
    [
      'an output that is missing',
      invoked('x', {}, { outputs: { v: '${{ tasks.b.output.none }}' } }),
      's',
      'invalid_template',
      'outputs:',
    ],
    [
      'an output that the invocation does not want',
      invoked('x', { outputSchema: { required: ['w'] } }),
      's',
      'output_schema',
      'w',
    ],
  ])('%s fails, and nothing goes on', async (_, spec, task, code, message) => {
    const outcome = await run(spec)
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    const tasks = recordOf(scene, outcome)
    expect(tasks[task]).toMatchObject({ state: 'failed', error: { code, message: expect.stringContaining(message) } })
    expect(tasks['last']?.state).toBe('cancelled')
    if (task !== 's') expect(tasks['s--a']?.state).toBe('cancelled')
  })

  it('that is skipped gives the reason of its invocation', async () => {
    const outcome = await run(invoked('x', { when: '${{ inputs.v > 1 }}' }))
    expect(outcome).toMatchObject({
      state: 'succeeded',
      outputs: { out: { reason: 'the condition is false', condition: { expression: 'inputs.v > 1', result: false } } },
    })
    const { first, ...rest } = statesOf(scene, outcome)
    expect([first, ...new Set(Object.values(rest))]).toEqual(['succeeded', 'skipped'])
  })

  it('has outputs though some of its tasks were skipped', async () => {
    const definition = {
      outputSchema: true,
      outputs: { a: '${{ tasks.a.output.router }}', b: '${{ tasks.b.output.status }}' },
      tasks: [
        {
          id: 'r',
          uses: 'router',
          route: { select: '${{ inputs.v }}', cases: [{ equals: 'x', tasks: ['b'] }], default: ['a'] },
        },
        { id: 'a', uses: 'action:assign', needs: ['r'] },
        { id: 'b', uses: 'action:assign', needs: ['r'] },
      ],
    }
    expect(await run(invoked('x', {}, definition))).toMatchObject({
      state: 'succeeded',
      outputs: { out: { a: 's--r', b: 'unchanged' } },
    })
  })

  it('mirrors a failed task; `continue` at the invocation counts for all of it', async () => {
    const definition = {
      tasks: [
        { id: 'a', uses: 'action:assert', with: { that: false } },
        { id: 'b', uses: 'action:assign' },
      ],
    }
    const spec = invoked('x', { failure: 'continue' }, definition)
    const outcome = await run({
      ...spec,
      tasks: [...(spec['tasks'] as JsonObject[]), { id: 'other', uses: 'action:assign' }],
    })
    expect(outcome).toMatchObject({ state: 'failed' })
    expect(statesOf(scene, outcome)).toEqual({
      first: 'succeeded',
      's--_inputs': 'succeeded',
      's--a': 'failed',
      's--b': 'succeeded',
      s: 'failed',
      last: 'cancelled',
      other: 'succeeded',
    })
  })

  it('nests, expands and loops, each within its own names', async () => {
    const outcome = await run({
      outputs: { all: '${{ tasks.all.output.items }}', twice: '${{ tasks.twice.output }}' },
      subworkflows: {
        f: flow({ inputSchema: true }),
        g: {
          version: '1',
          inputSchema: true,
          outputSchema: true,
          outputs: { v: '${{ tasks.a.output.v }}', times: '${{ tasks.again.output.iterations }}' },
          tasks: [
            { id: 'a', uses: 'workflow:f', with: { v: 'in ${{ inputs.v }}', suffix: '?' } },
            {
              id: 'again',
              uses: 'workflow:f',
              needs: ['a'],
              loop: { maxIterations: 3, while: "${{ loop.output.v != 'xx' }}", initial: { v: '' } },
              with: { v: '${{ vars.loopPrevious.v }}', suffix: 'x' },
            },
          ],
        },
      },
      tasks: [
        { id: 'all', uses: 'workflow:f', foreach: { items: ['p', 'q'] }, with: { v: '${{ vars.item }}' } },
        { id: 'twice', uses: 'workflow:g', with: { v: 'g' } },
      ],
    })
    expect(outcome).toMatchObject({
      state: 'succeeded',
      outputs: { all: [{ output: { v: 'p!' } }, { output: { v: 'q!' } }], twice: { v: 'in g?', times: 2 } },
    })
  })
})

describe('memory and batches', () => {
  it('children of one batch see the memory before it; deltas commit in plan order; loops see each other', async () => {
    const outcome = await run({
      runtime: { maxConcurrency: 8 },
      memory: { working: { n: 0, k0: null, k1: null, k2: null } },
      actions: { w: { kind: 'builtin.memory.write' }, r: { kind: 'builtin.memory.read' } },
      outputs: { seen: '${{ tasks.fan.output.items }}', n: '${{ tasks.end.output.value }}' },
      tasks: [
        {
          id: 'fan',
          uses: 'action:w',
          foreach: { items: [0, 1, 2] },
          with: { key: 'k${{ vars.item }}', value: '${{ memory.k0 }}' },
        },
        {
          id: 'l',
          uses: 'action:w',
          needs: ['fan'],
          loop: { maxIterations: 3, while: '${{ memory.n < 5 }}' },
          with: { key: 'n', value: { was: '${{ memory.n }}' } },
        },
        { id: 'end', uses: 'action:r', needs: ['fan'], with: { key: 'k2' } },
      ],
    })
    expect(outcome.state).toBe('failed')
    expect(outcome.messages.join()).toContain('`<` compares numbers')
    const memory = scene.ledger.store.snapshot(outcome.run)?.memory
    expect(memory).toMatchObject({ n: { was: 0 }, k1: null })
  })

  it('a key that memoryWrites does not name is refused when it is known', async () => {
    const outcome = await run({
      memory: { working: { which: 'b' } },
      actions: { w: { kind: 'builtin.memory.write' } },
      tasks: [{ id: 'w', uses: 'action:w', memoryWrites: ['a'], with: { key: '${{ memory.which }}', value: 1 } }],
    })
    expect(recordOf(scene, outcome)['w']?.error).toMatchObject({ code: 'undeclared_memory' })
    expect(scene.ledger.store.snapshot(outcome.run)?.memory).toEqual({ which: 'b' })
  })

  it('children run as many at once as the plan allows, never more', async () => {
    const outcome = await run({
      runtime: { maxConcurrency: 3 },
      policy: processes,
      actions: { p: sh(`echo + >> '${scene.directory}/log'; sleep 0.05; echo - >> '${scene.directory}/log'`) },
      tasks: [{ id: 'each', uses: 'action:p', foreach: { items: [1, 2, 3, 4, 5, 6, 7] } }],
    })
    expect(outcome.state).toBe('succeeded')
    scene.workspace = scene.directory
    let now = 0
    let most = 0
    for (const line of (getFile(scene, 'log') ?? '').trim().split('\n')) {
      now += line === '+' ? 1 : -1
      most = Math.max(most, now)
    }
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(3)
  })
})
