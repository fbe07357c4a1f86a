import { describe, expect, it } from 'vitest'
import { type Floor, parseFloor } from '../../policy/decision/index.ts'
import { limitNames } from '../../policy/decision/limit-names.ts'
import { workflowJsonSchema } from '../../policy/document/index.ts'
import type { Json, JsonObject } from '../../policy/json.ts'
import { build, workflow } from '../document/support.ts'
import { assign, declared, pack, using } from '../packs/support.ts'

const envelope = (spec: string) =>
  `apiVersion: agentctl.dev/v1\nkind: SecurityFloor\nmetadata: {name: f}\nspec: ${spec}\n`

function floorOf(spec: string, source = 'organisation'): Floor {
  const parsed = parseFloor(envelope(spec), source)
  if (!parsed.ok) throw new Error(parsed.message)
  return parsed.floor
}

function under(floor: string, text: string, files: { [path: string]: string } = {}) {
  const { plan, diagnostics } = build(text, { floor: floorOf(floor), files })
  const violations = diagnostics.filter(({ code }) => code === 'floor_violation')
  expect(plan === null).toBe(diagnostics.some(({ severity }) => severity === 'error'))
  return { plan, violations: violations.map(({ file, line, path, message }) => `${file}:${line} ${path} ${message}`) }
}

const one = 'actions: {a: {kind: builtin.assign}}\ntasks: [{id: a, uses: "action:a"}]'
const shell = 'kind: builtin.shell.exec, command: /bin/true'
const pinned = `sha256:${'b'.repeat(64)}`
const sh = (more: string, task = '') =>
  workflow(`actions: {a: {${shell}${more}}}\ntasks: [{id: a, uses: "action:a"${task}}]`)

describe('limits', () => {
  const asks = (field: string, value: number, limit: number) =>
    `${field} asks for ${value}, beyond the ${limit} that the floor set by organisation allows`

  it.each<[string, string, string, string[]]>([
    [
      '{timeoutSeconds: 60}',
      'an action',
      sh(', timeoutSeconds: 61'),
      [`test.yaml:5 spec.actions.a.timeoutSeconds ${asks('timeoutSeconds', 61, 60)}`],
    ],
    [
      '{timeoutSeconds: 60}',
      'a task',
      sh('', ', timeoutSeconds: 61'),
      [`test.yaml:6 spec.tasks[0].timeoutSeconds ${asks('timeoutSeconds', 61, 60)}`],
    ],
    [
      '{timeoutSeconds: 60}',
      'both',
      sh(', timeoutSeconds: 90', ', timeoutSeconds: 61'),
      [
        `test.yaml:5 spec.actions.a.timeoutSeconds ${asks('timeoutSeconds', 90, 60)}`,
        `test.yaml:6 spec.tasks[0].timeoutSeconds ${asks('timeoutSeconds', 61, 60)}`,
      ],
    ],
    ['{timeoutSeconds: 60}', 'exactly the bound', sh(', timeoutSeconds: 60'), []],
    [
      '{timeoutSeconds: 3}',
      'a secret helper',
      `${sh(', env: {A: {process: {command: pass, timeoutSeconds: 4}}}')}  policy: {secretProcessAllowlist: [pass]}\n`,
      [`test.yaml:5 spec.actions.a.env.A.process.timeoutSeconds ${asks('timeoutSeconds', 4, 3)}`],
    ],
    [
      '{timeoutSeconds: 60}',
      'an action named like a field of data',
      workflow(`actions: {with: {${shell}, timeoutSeconds: 61}}\ntasks: [{id: a, uses: "action:with"}]`),
      [`test.yaml:5 spec.actions.with.timeoutSeconds ${asks('timeoutSeconds', 61, 60)}`],
    ],
    [
      '{timeoutSeconds: 60}',
      'a variable named like a field of data',
      `${sh(', env: {vars: {process: {command: pass, timeoutSeconds: 60, outputLimitBytes: 5}}}')}  policy: {secretProcessAllowlist: [pass]}\n`,
      [],
    ],
    [
      '{timeoutSeconds: 60}',
      'an action named like the field',
      workflow(`actions: {timeoutSeconds: {kind: builtin.assign}}\ntasks: [{id: a, uses: "action:timeoutSeconds"}]`),
      [],
    ],
    [
      '{timeoutSeconds: 60}',
      'data of that name',
      workflow(
        `${one.replace('"action:a"', '"action:a", with: {timeoutSeconds: 99}')}\nvars: {timeoutSeconds: 99}\nmemory: {working: {timeoutSeconds: 99}}`,
      ),
      [],
    ],
    [
      '{stdoutLimitBytes: 100}',
      'an output limit',
      sh(', stdoutLimitBytes: 101'),
      [`test.yaml:5 spec.actions.a.stdoutLimitBytes ${asks('stdoutLimitBytes', 101, 100)}`],
    ],
    [
      '{maxConcurrency: 2}',
      'runtime',
      workflow(`${one}\nruntime: {maxConcurrency: 3}`),
      [`test.yaml:7 spec.runtime.maxConcurrency ${asks('maxConcurrency', 3, 2)}`],
    ],
    [
      '{maxTasks: 10}',
      'budgets',
      workflow(`${one}\nruntime: {budgets: {maxTasks: 11}}`),
      [`test.yaml:7 spec.runtime.budgets.maxTasks ${asks('maxTasks', 11, 10)}`],
    ],
    [
      '{maxAttempts: 2}',
      'retry',
      workflow(one.replace('"action:a"', '"action:a", retry: {maxAttempts: 3}')),
      [`test.yaml:6 spec.tasks[0].retry.maxAttempts ${asks('maxAttempts', 3, 2)}`],
    ],
    [
      '{maxIterations: 3}',
      'a loop',
      workflow(one.replace('"action:a"', '"action:a", loop: {maxIterations: 4, while: "vars.loopIndex < 9"}')),
      [`test.yaml:6 spec.tasks[0].loop.maxIterations ${asks('maxIterations', 4, 3)}`],
    ],
    [
      '{memoryLimitBytes: 20000000}',
      'a container',
      sh(`, isolation: container, container: {image: "${pinned}", memoryLimitBytes: 30000000}`),
      [`test.yaml:5 spec.actions.a.container.memoryLimitBytes ${asks('memoryLimitBytes', 30_000_000, 20_000_000)}`],
    ],
    [
      '{retentionDays: 7}',
      'long-term memory',
      workflow(`${one}\nmemory: {longTerm: {retentionDays: 8}}`),
      [`test.yaml:7 spec.memory.longTerm.retentionDays ${asks('retentionDays', 8, 7)}`],
    ],
  ])('%s over %s', (limits, _, text, expected) => {
    expect(under(`{limits: ${limits}}`, text).violations).toEqual(expected)
  })

  it('bound the items of packs where these stand', () => {
    const text = using(
      declared(),
      'action:acme.tools.run',
      'packTrust: {unsigned: allow, allowUnsignedProcess: true}',
    ).replace(', with: {value: 1}', '')
    const files = { 'tools.yaml': pack('acme.tools', `actions: {run: {${shell}, timeoutSeconds: 61}}`) }
    expect(under('{limits: {timeoutSeconds: 60}}', text, files).violations).toEqual([
      `tools.yaml:5 actions.run.timeoutSeconds ${asks('timeoutSeconds', 61, 60)}`,
    ])
    expect(under('{limits: {timeoutSeconds: 60}}', using(declared()), { 'tools.yaml': assign }).violations).toEqual([])
  })

  it('tighten every default silently', () => {
    const text = workflow(`
      actions: {a: {${shell}}}
      tasks: [{id: a, uses: "action:a"}]
    `)
    const names =
      '{timeoutSeconds: 5, stdoutLimitBytes: 6, stderrLimitBytes: 7, combinedOutputLimitBytes: 8, defaultTimeoutSeconds: 9, maxTasks: 3, maxProcessOutputBytes: 10, maxCostMicrousd: 11}'
    const { plan, violations } = under(`{limits: ${names}}`, text)
    expect(violations).toEqual([])
    expect(plan?.defaultTimeoutSeconds).toBe(9)
    expect(plan?.tasks['a']?.timeoutSeconds).toBe(5)
    const limits = { timeoutSeconds: 5, stdoutLimitBytes: 6, stderrLimitBytes: 7, combinedOutputLimitBytes: 8 }
    expect(plan?.tasks['a']?.action.process).toMatchObject(limits)
    expect(plan?.processes[0]?.limits).toEqual(limits)
    expect(plan?.budgets).toEqual({ maxTasks: 3, maxProcessOutputBytes: 10, maxCostMicrousd: 11 })
  })

  it('tighten the number of items that nobody wrote', () => {
    const text = workflow(one.replace('"action:a"', '"action:a", foreach: {items: [1, 2, 3]}'))
    expect(build(text, { floor: floorOf('{limits: {maxItems: 3}}') }).plan).not.toBeNull()
    const { plan, diagnostics } = build(text, { floor: floorOf('{limits: {maxItems: 2}}') })
    expect([plan, diagnostics.length]).toEqual([null, 1])
  })

  it('name a field of documents, or the floor is refused', () => {
    const parsed = parseFloor(envelope('{limits: {timeoutSecond: 60}}'))
    expect(parsed).toEqual({
      ok: false,
      message: expect.stringContaining('limits.timeoutSecond: `timeoutSecond` is no field that can be bounded by name'),
    })
    expect(parseFloor(envelope('{limits: {maxResponseBytes: 60}}')).ok).toBe(false)
    expect(parseFloor({ limits: { surprise: 1 } }).ok).toBe(false)
  })

  it('can name every number of a document that is neither policy nor price', () => {
    expect([...limitNames].sort()).toEqual(numbersOf(workflowJsonSchema()))
  })
})

/** Names of the numbers in a schema, without those below `policy` and `pricing`. */
function numbersOf(schema: JsonObject): string[] {
  const isObject = (value: Json | undefined): value is JsonObject =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const found = new Set<string>()
  const resolve = (node: JsonObject): JsonObject => {
    const definitions = schema['$defs']
    const target = isObject(definitions)
      ? definitions[
          String(node['$ref'] ?? '')
            .split('/')
            .at(-1) ?? ''
        ]
      : undefined
    return isObject(target) ? resolve(target) : node
  }
  const walk = (value: Json | undefined): void => {
    if (Array.isArray(value)) for (const item of value) walk(item)
    if (!isObject(value)) return
    const node = resolve(value)
    const { properties } = node
    for (const [name, field] of Object.entries(isObject(properties) ? properties : {})) {
      if (!isObject(field) || name === 'policy' || name === 'pricing') continue
      if (['integer', 'number'].includes(String(resolve(field)['type']))) found.add(name)
      walk(field)
    }
    for (const key of ['items', 'additionalProperties', 'anyOf', 'allOf']) walk(node[key])
  }
  walk(schema)
  return [...found].sort()
}

describe('images', () => {
  const image = `sha256:${'a'.repeat(64)}`
  const container = sh(`, isolation: container, container: {image: "${image}"}`)
  const cell = sh(`, isolation: cell, cell: {image: "${image}", workspace: w}`)
  const refused = (kind: string, allowed: string) =>
    `test.yaml:5 spec.actions.a.${kind}.image image \`${image}\` is not among the images that the floor set by ${allowed} allows`

  it.each<[string, string, string[]]>([
    [`{images: ["${image}"]}`, container, []],
    ['{images: [other]}', container, [refused('container', 'organisation')]],
    ['{images: []}', container, [refused('container', 'organisation')]],
    ['{images: []}', cell, [refused('cell', 'organisation')]],
    ['{images: []}', sh(''), []],
    ['{}', container, []],
  ])('%s', (floor, text, expected) => {
    expect(under(floor, text).violations).toEqual(expected)
  })
})

describe('minimumIsolation', () => {
  it.each([
    ['process', 'process', false],
    ['container', 'process', true],
    ['container', 'container', false],
    ['cell', 'container', true],
    ['cell', 'cell', false],
  ])('%s over a %s: refused %s', (least, isolation, isRefused) => {
    const more =
      {
        process: '',
        container: `, container: {image: "${pinned}"}`,
        cell: `, cell: {image: "${pinned}", workspace: w}`,
      }[isolation] ?? ''
    const { violations } = under(`{minimumIsolation: ${least}}`, sh(`, isolation: ${isolation}${more}`))
    expect(violations).toEqual(
      isRefused
        ? [
            `test.yaml:5 spec.actions.a.isolation isolation \`${isolation}\` is weaker than the \`${least}\` that the floor set by organisation requires`,
          ]
        : [],
    )
  })
})

describe('workspaceNotCaptured', () => {
  const text = workflow(`
    policy: {processAllowlist: ["true"], writableRoots: [out]}
    actions: {a: {${shell}}, w: {kind: builtin.write}}
    tasks: [{id: a, uses: "action:a"}, {id: b, uses: "action:w", needs: [a], with: {path: out/x, content: x}}]
  `)
  it.each([
    ['{}', 'warning'],
    ['{workspaceNotCaptured: warn}', 'warning'],
    ['{workspaceNotCaptured: error}', 'error'],
  ])('%s is a %s', (floor, severity) => {
    const { plan, diagnostics } = build(text, { floor: floorOf(floor) })
    expect(diagnostics.map(({ code, severity }) => [code, severity])).toEqual([['workspace_not_captured', severity]])
    expect(plan === null).toBe(severity === 'error')
  })
})

describe('a violation and the plan', () => {
  it('name the field and every floor that set it', () => {
    const floor: Floor = {
      ...floorOf('{policy: {processAllowlist: [git]}}'),
      setBy: { 'policy.processAllowlist': ['host', 'organisation'] },
    }
    const { diagnostics } = build(`${sh('')}  policy: {processAllowlist: [sh]}\n`, { floor })
    expect(diagnostics).toMatchObject([{ code: 'floor_violation', path: 'spec.policy.processAllowlist', line: 7 }])
    expect(diagnostics[0]?.message).toBe(
      'policy.processAllowlist asks for `sh`, which the floor set by host and organisation does not allow; the floor allows `git`',
    )
  })

  it('show where each field of the policy comes from, and which floor holds', () => {
    const floor = floorOf('{policy: {networkAllowlist: [], maxResponseBytes: 5}}'.replace(', maxResponseBytes: 5', ''))
    const { plan } = build(`${workflow(one)}  policy: {writableRoots: [out]}\n`, { floor })
    expect(plan?.effectivePolicy).toMatchObject({
      writableRoots: { value: ['out'], origin: 'document' },
      processAllowlist: { value: [], origin: 'default' },
    })
    expect(plan?.floorDigest).toMatch(/^[0-9a-f]{64}$/)
    const tightened = build(workflow(one), { floor: floorOf('{policy: {approval: always}}') }).plan
    expect(tightened?.effectivePolicy.approval).toEqual({ value: 'always', origin: 'floor' })
    expect(tightened?.floorDigest).not.toBe(plan?.floorDigest)
    expect(build(workflow(one)).plan?.floorDigest).toBeNull()
  })
})
