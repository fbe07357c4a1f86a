import { describe, expect, it } from 'vitest'
import { build, planOf, shown, smallest, workflow } from './support.ts'

const actions = 'actions: {assign: {kind: builtin.assign}}'

/** A document with these tasks, each given as the fields of a flow map. */
function tasks(...list: string[]): string {
  return workflow(`${actions}\n${['tasks:', ...list.map(task => `  - {${task}}`)].join('\n')}`)
}

const use = 'uses: "action:assign"'

describe('order', () => {
  it('is topological, ties in declaration order', () => {
    const text = tasks(
      `id: d, ${use}, needs: [b, c]`,
      `id: c, ${use}, needs: [a]`,
      `id: b, ${use}, needs: [a]`,
      `id: a, ${use}`,
      `id: e, ${use}`,
    )
    expect(planOf(text).order).toEqual(['a', 'c', 'b', 'd', 'e'])
  })

  it('names each cycle once, and what is behind one is not blamed', () => {
    const text = tasks(
      `id: a, ${use}, needs: [b]`,
      `id: b, ${use}, needs: [c]`,
      `id: c, ${use}, needs: [a]`,
      `id: behind, ${use}, needs: [a]`,
      `id: self, ${use}, needs: [self]`,
    )
    expect(shown(build(text).diagnostics)).toEqual([
      '7:45 dependency_cycle tasks need each other in a circle: a -> b -> c -> a',
      '11:48 dependency_cycle tasks need each other in a circle: self -> self',
    ])
  })
})

describe('names', () => {
  it.each([
    ['needs', tasks(`id: a, ${use}, needs: [b]`), '7:46 missing_reference task `a` needs `b`, which is not declared'],
    ['action', tasks('id: a, uses: "action:asign"'), '7:21 missing_reference spec.actions has no `asign`'],
    ['agent', tasks('id: a, uses: "agent:none"'), '7:21 missing_reference spec.agents has no `none`'],
    ['workflow', tasks('id: a, uses: "workflow:none"'), '7:21 missing_reference spec.subworkflows has no `none`'],
    ['other use', tasks('id: a, uses: assign'), '7:21 schema_violation `assign` names nothing that a task can use'],
    [
      'prototype',
      tasks('id: a, uses: "action:constructor"'),
      '7:21 missing_reference spec.actions has no `constructor`',
    ],
    ['duplicate', tasks(`id: a, ${use}`, `id: a, ${use}`), '8:12 duplicate_task task `a` is declared twice'],
  ])('%s', (_, text, expected) => {
    expect(shown(build(text).diagnostics)).toEqual([expected])
  })

  it('suggests the nearest', () => {
    expect(build(tasks('id: a, uses: "action:asign"')).diagnostics[0]?.help).toBe('did you mean `action:assign`?')
    expect(build(tasks(`id: build, ${use}`, `id: b, ${use}, needs: [biuld]`)).diagnostics[0]?.help).toBe(
      'did you mean `build`?',
    )
  })
})

describe('references', () => {
  const reading = (value: string, more = ''): string =>
    tasks(
      `id: a, ${use}`,
      `id: b, ${use}, needs: [a]`,
      `id: c, ${use}, needs: [b]${more}, with: {x: "${value}"}`,
      `id: other, ${use}`,
    )

  it.each([
    ['a direct need', '${{ tasks.b.output.output.x }}'],
    ['a need of a need', 'text ${{ tasks.a.output.status }}'],
    ['memory', '${{ memory.anything }}'],
  ])('%s may be read', (_, value) => {
    expect(planOf(reading(value)).tasks['c']?.with).toEqual({ x: value })
  })

  it.each([
    ['${{ tasks.other.output }}', 'task `c` does not need `other`', 'add `other` to its needs'],
    ['${{ tasks.c.output }}', 'a task cannot read its own output', 'read a task that it needs'],
    ['${{ tasks.nobody.output }}', 'there is no task `nobody`', 'name a task of this graph'],
    ['${{ inputs.x }}', 'input `x` has no value and no default', 'give it, or add a default'],
    ['${{ vars.x }}', '`vars` has no `x`', 'define it in `vars`'],
    ['${{ inputs.x + 1 }}', 'no functions, indexing or arithmetic', expect.stringContaining('write one path')],
  ])('%s is invalid_template', (value, message, help) => {
    const [found, ...rest] = build(reading(value)).diagnostics
    expect(rest).toEqual([])
    expect(found).toMatchObject({ code: 'invalid_template', line: 9, path: 'spec.tasks[2].with.x', help })
    expect(found?.message).toContain(message)
  })

  it('are checked in when, vars, outputs, keys and the defaults of an action', () => {
    const text = workflow(`
      outputs: {o: "\${{ tasks.none.output }}"}
      actions: {assign: {kind: builtin.assign, with: {d: "\${{ inputs.missing }}", e: "\${{ vars.missing }}"}}}
      tasks:
        - {id: a, uses: "action:assign", when: "\${{ inputs.x }} y", vars: {v: "\${{ vars.other }}"}, with: {e: 1, "\${{ k }}": 1}}
    `)
    expect(shown(build(text).diagnostics)).toEqual([
      '5:16 invalid_template `tasks.none.output`: there is no task `none`',
      '6:54 invalid_template input `missing` has no value and no default in spec.inputs',
      expect.stringContaining('8:44 invalid_template a condition is one template and nothing beside it'),
      '8:75 invalid_template `vars.other`: a variable cannot be made from variables',
      '8:122 invalid_template a key cannot hold a template',
    ])
  })

  it('warns of an input without a value only where none is required yet', () => {
    const { plan, diagnostics } = build(reading('${{ inputs.x }}'), { requireInputs: false })
    expect(plan).not.toBeNull()
    expect(diagnostics).toMatchObject([{ severity: 'warning', code: 'invalid_template' }])
  })

  it('reach through a dense graph of thousands of tasks in time', () => {
    const list = Array.from({ length: 3000 }, (_, index) => {
      const needs = [index - 1, index - 2, index - 50].filter(need => need >= 0).map(need => `t${need}`)
      const reads = index > 100 ? `, with: {x: "\${{ tasks.t${index - 99}.output }}"}` : ''
      return `id: t${index}, ${use}, needs: [${needs.join(', ')}]${reads}`
    })
    const before = process.cpuUsage()
    expect(planOf(tasks(...list)).order).toHaveLength(3000)
    expect(process.cpuUsage(before).user).toBeLessThan(3e6)
  })
})

describe('inputs', () => {
  const text = workflow(`
    inputs: {name: world, deep: {x: 1}}
    actions: {assign: {kind: builtin.assign}}
    tasks: [{id: a, uses: "action:assign", with: {m: "\${{ inputs.name }}", d: "\${{ inputs.deep.x }}", extra: "\${{ inputs.extra }}"}}]
  `)

  it('given ones replace defaults, and may be read without one', () => {
    expect(planOf(text, { inputs: { name: 'you', extra: null } }).inputs).toEqual({
      name: 'you',
      deep: { x: 1 },
      extra: null,
    })
  })

  it.each([
    [{ extra: 1, nme: 'x' }, 'missing_reference the document has no input `nme`'],
    [{ extra: 1, deep: {} }, 'invalid_template `inputs.deep.x` is missing: `inputs.deep` has no `x`'],
    [{}, 'invalid_template input `extra` has no value'],
  ])('%j is refused', (inputs, message) => {
    expect(shown(build(text, { inputs }).diagnostics)).toEqual([expect.stringContaining(message)])
  })
})

describe('vars', () => {
  const text = workflow(`
    varsFiles: [base.yaml, more.yaml]
    vars: {inline: document, shared: document}
    actions: {assign: {kind: builtin.assign}}
    tasks:
      - {id: a, uses: "action:assign", varsFiles: [sub/task.yaml], vars: {own: task, over: task}, with: {x: "\${{ vars.base }}"}}
    outputs: {o: "\${{ vars.inline }}"}
  `)
  const files = {
    'flows/base.yaml': 'base: 1\nshared: base\nmore: base',
    'flows/more.yaml': '{"more": {"list": [1]}}',
    'flows/sub/task.yaml': 'own: file\nfile: task',
  }

  it('go from files to inline to the task to overrides, each replacing whole values', () => {
    const plan = planOf(text, { file: 'flows/w.yaml', files, vars: { over: 'flag', inline: 'flag' } })
    expect(plan.vars).toEqual({ base: 1, shared: 'document', more: { list: [1] }, inline: 'flag', over: 'flag' })
    expect(plan.tasks['a']?.vars).toEqual({ own: 'task', file: 'task' })
    expect(plan.sourceFiles).toEqual(['flows/base.yaml', 'flows/more.yaml', 'flows/sub/task.yaml'])
  })

  it.each([
    [{ 'flows/more.yaml': 'a: [' }, 'flows/more.yaml', 'yaml_syntax'],
    [{ 'flows/more.yaml': 'a: 1\na: 2' }, 'flows/more.yaml', 'yaml_syntax'],
    [{ 'flows/more.yaml': '[1]' }, 'flows/more.yaml', 'schema_violation'],
    [{ 'flows/more.yaml': 'a: {b: "${{ inputs.x }}"}' }, 'flows/more.yaml', 'invalid_template'],
  ])('%j is told in the file', (more, file, code) => {
    expect(build(text, { file: 'flows/w.yaml', files: { ...files, ...more } }).diagnostics).toMatchObject([
      { file, code, line: expect.any(Number) },
    ])
  })

  it.each([
    ['absent.yaml', 'missing_reference'],
    ['../outside.yaml', 'schema_violation'],
    ['/etc/passwd', 'schema_violation'],
    ['"${{ inputs.x }}"', 'schema_violation'],
  ])('the file %s is refused where it is named', (name, code) => {
    expect(build(`${workflow(smallest)}  varsFiles: [${name}]\n`).diagnostics).toMatchObject([
      { code, path: 'spec.varsFiles[0]', line: 7 },
    ])
  })

  it('of the document hold data only', () => {
    expect(shown(build(`${workflow(smallest)}  vars: {a: ["\${{ inputs.x }}"]}\n`).diagnostics)).toEqual([
      '7:14 invalid_template a variable is data: no template can stand in it',
    ])
  })
})

describe('input of an action', () => {
  const one = (action: string, given: string): string =>
    workflow(`actions: {x: ${action}}\ntasks: [{id: a, uses: "action:x"${given === '' ? '' : `, with: ${given}`}}]`)

  it.each([
    ['{kind: builtin.read}', '', 'builtin.read needs `path`'],
    ['{kind: builtin.read}', '{path: 1}', '`path` of builtin.read must be a text'],
    ['{kind: builtin.read}', '{path: a, mode: x}', 'builtin.read does not take `mode`'],
    ['{kind: builtin.write}', '{path: a}', 'builtin.write needs `content`'],
    ['{kind: builtin.write}', '{path: a, content: {}}', '`content` of builtin.write must be a text'],
    ['{kind: builtin.assert}', '{that: "yes"}', '`that` of builtin.assert must be true, false or a condition'],
    ['{kind: builtin.memory.write}', '{key: a}', 'builtin.memory.write needs `value`'],
    ['{kind: builtin.shell.exec, command: x}', '{a: 1}', 'builtin.shell.exec does not take `a`'],
    ['{kind: builtin.shell.exec}', '', 'action `x` runs a process and has no command'],
    ['{kind: builtin.assign, command: x}', '', '`command` has no meaning for builtin.assign'],
    ['{kind: builtin.write, artifacts: [a]}', '{path: a, content: b}', '`artifacts` has no meaning for builtin.write'],
  ])('%s with %s', (action, given, message) => {
    const { plan, diagnostics } = build(one(action, given))
    expect(plan).toBeNull()
    expect(diagnostics.map(({ message: text }) => text)).toEqual([expect.stringContaining(message)])
  })

  it('is the defaults of the action under that of the task', () => {
    const plan = planOf(one('{kind: builtin.write, with: {path: a, content: b}}', '{content: c}'))
    expect(plan.tasks['a']?.with).toEqual({ path: 'a', content: 'c' })
  })
})

describe('memory', () => {
  const writers = (concurrency: number, needs: string): string =>
    workflow(`
      runtime: {maxConcurrency: ${concurrency}}
      actions: {w: {kind: builtin.memory.write}, assign: {kind: builtin.assign}}
      tasks:
        - {id: a, uses: "action:w", with: {key: k, value: 1}}
        - {id: b, uses: "action:w", ${needs}with: {key: k, value: 2}}
        - {id: c, uses: "action:assign", memoryWrites: [k]${needs === '' ? '' : ', needs: [b]'}}
    `)

  it('written by tasks that may overlap is refused', () => {
    expect(shown(build(writers(2, '')).diagnostics)).toEqual([
      '9:7 schema_violation tasks `a` and `b` both write memory `k` and may run at the same time',
      '10:7 schema_violation tasks `b` and `c` both write memory `k` and may run at the same time',
    ])
  })

  it('written in turn is fine, as is anything one at a time', () => {
    expect(planOf(writers(2, 'needs: [a], ')).tasks['a']?.memoryWrites).toEqual(['k'])
    expect(planOf(writers(1, '')).order).toEqual(['a', 'b', 'c'])
  })

  it('under a key that only the run knows must be declared', () => {
    const text = workflow(`
      runtime: {maxConcurrency: 2}
      memory: {working: {k: a}}
      actions: {w: {kind: builtin.memory.write}}
      tasks: [{id: a, uses: "action:w", with: {key: "\${{ memory.k }}", value: 1}}]
    `)
    expect(shown(build(text).diagnostics)).toEqual([
      '8:11 schema_violation task `a` writes a memory key that is not known before the run',
    ])
    expect(build(text.replace('with:', 'memoryWrites: [a], with:')).plan).not.toBeNull()
    const known = text.replace('memory.k', 'inputs.k').replace('memory: {working: {k: a}}', 'inputs: {k: a}')
    expect(planOf(known).tasks['a']?.memoryWrites).toEqual(['a'])
  })
})

describe('secrets', () => {
  it.each([
    ['{env: "A-B"}', '`A-B` is no name of a variable'],
    ['{file: secrets/a}', 'lies under no secretFileRoots'],
    ['{process: {command: /bin/helper}}', 'the secret helper `helper` is not in secretProcessAllowlist'],
    ['{env: A, file: b}', 'exactly one of'],
    ['{}', 'exactly one of'],
    ['plain', 'exactly one of'],
    ['{process: {command: a, timeoutSeconds: 61}}', 'at most 60, not 61'],
  ])('%s', (reference, message) => {
    const text = workflow(`
      actions: {run: {kind: builtin.shell.exec, command: /bin/true, env: {TOKEN: ${reference}}}}
      tasks: [{id: a, uses: "action:run"}]
    `)
    const [found] = build(text).diagnostics
    expect(found).toMatchObject({ code: 'invalid_secret_reference', line: 5 })
    expect(found?.message).toContain(message)
  })
})
