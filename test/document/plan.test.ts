import { describe, expect, it } from 'vitest'
import { parseFloor } from '../../policy/decision/index.ts'
import { build, planOf, shown, smallest, workflow } from './support.ts'

const process = `
  policy: {processAllowlist: [build], writableRoots: [out], approval: APPROVAL}
  actions:
    build: {kind: builtin.shell.exec, command: /usr/bin/build, args: [all], ARTIFACTS timeoutSeconds: 30, idempotency: idempotent}
    unused: {kind: builtin.shell.exec, command: other, isolation: container, container: {image: "sha256:${'0'.repeat(64)}"}}
    write: {kind: builtin.write}
    assign: {kind: builtin.assign}
  tasks:
    - {id: build, uses: "action:build"}
    - {id: note, uses: "action:assign", needs: [build]}
    - {id: publish, uses: "action:write", needs: [note], with: {path: out/a, content: "\${{ tasks.note.output.status }}"}}
`
const document = (approval = 'mutations', artifacts = ''): string =>
  workflow(process.replace('APPROVAL', approval).replace('ARTIFACTS', artifacts))

function floor(spec: object) {
  const parsed = parseFloor(
    {
      apiVersion: 'agentctl.dev/v1',
      kind: 'SecurityFloor',
      metadata: { name: 'f' },
      spec: JSON.parse(JSON.stringify(spec)),
    },
    'organisation',
  )
  if (!parsed.ok) throw new Error(parsed.message)
  return parsed.floor
}

describe('plan', () => {
  it('lists every process action with its limits, used or not', () => {
    const limits = { stdoutLimitBytes: 1_048_576, stderrLimitBytes: 1_048_576, combinedOutputLimitBytes: 2_097_152 }
    expect(planOf(document()).processes).toEqual([
      {
        action: 'build',
        kind: 'builtin.shell.exec',
        tasks: ['build'],
        isolation: 'process',
        command: '/usr/bin/build',
        args: ['all'],
        container: null,
        limits: { timeoutSeconds: 30, ...limits },
      },
      {
        action: 'unused',
        kind: 'builtin.shell.exec',
        tasks: [],
        isolation: 'container',
        command: 'other',
        args: [],
        container: { image: `sha256:${'0'.repeat(64)}`, runtime: 'auto' },
        limits: { timeoutSeconds: 120, ...limits, memoryLimitBytes: 268_435_456, cpuLimitMillis: 1000, pidsLimit: 64 },
      },
    ])
  })

  it('says what each task will do and may ask', () => {
    expect(planOf(document()).requirements).toEqual({
      providers: [],
      tools: ['builtin.assign', 'filesystem.write', 'process.exec'],
      effects: [
        {
          task: 'build',
          operation: 'builtin.shell.exec',
          effectClass: 'process_execution',
          risk: 'high',
          approvalPossible: true,
          predictability: 'none',
        },
        {
          task: 'note',
          operation: 'builtin.assign',
          effectClass: 'pure',
          risk: 'low',
          approvalPossible: false,
          predictability: 'full',
        },
        {
          task: 'publish',
          operation: 'builtin.write',
          effectClass: 'workspace_mutate',
          risk: 'medium',
          approvalPossible: true,
          predictability: 'partial',
        },
      ],
    })
    const asks = (mode: string): boolean[] =>
      planOf(document(mode)).requirements.effects.map(effect => effect.approvalPossible)
    expect([asks('never'), asks('high_risk'), asks('always')]).toEqual([
      [false, false, false],
      [true, false, false],
      [true, true, true],
    ])
  })

  it('fills in what a task and its action leave out', () => {
    expect(planOf(document()).tasks['build']).toEqual({
      id: 'build',
      uses: 'action:build',
      needs: [],
      when: null,
      vars: {},
      with: {},
      retry: { maxAttempts: 1, backoffMs: 0 },
      timeoutSeconds: 30,
      failure: 'stop',
      memoryWrites: [],
      action: {
        name: 'build',
        kind: 'builtin.shell.exec',
        tool: 'process.exec',
        capabilities: [],
        effectClass: 'process_execution',
        risk: 'high',
        idempotency: 'idempotent',
        isolation: 'process',
        process: {
          command: '/usr/bin/build',
          args: ['all'],
          cwd: '.',
          env: {},
          timeoutSeconds: 30,
          stdoutLimitBytes: 1_048_576,
          stderrLimitBytes: 1_048_576,
          combinedOutputLimitBytes: 2_097_152,
          artifacts: [],
        },
      },
      source: { line: 12, column: 7 },
    })
  })

  it('is refused where a small document would make a huge one', () => {
    const tasks = Array.from({ length: 4000 }, (_, index) => `{id: t${index}, uses: "action:big"}`).join(', ')
    const text = workflow(
      `actions: {big: {kind: builtin.assign, with: {x: "${'y'.repeat(20_000)}"}}}\ntasks: [${tasks}]`,
    )
    expect(shown(build(text).diagnostics)).toEqual([
      expect.stringContaining('the plan would be larger than 33554432 characters'),
    ])
  })
})

describe('floor', () => {
  it('is met with the document, and each field says where it comes from', () => {
    const plan = planOf(document(), {
      floor: floor({
        policy: { approval: 'high_risk', toolsAllow: ['process.exec', 'filesystem.write', 'builtin.assign'] },
        limits: { timeoutSeconds: 60, stdoutLimitBytes: 1000 },
      }),
    })
    const { approval, toolsAllow, writableRoots, secretFileRoots } = plan.effectivePolicy
    expect({ approval, toolsAllow, writableRoots, secretFileRoots }).toEqual({
      approval: { value: 'mutations_or_high_risk', origin: 'floor' },
      toolsAllow: { value: ['builtin.assign', 'filesystem.write', 'process.exec'], origin: 'floor' },
      writableRoots: { value: ['out'], origin: 'document' },
      secretFileRoots: { value: [], origin: 'default' },
    })
    expect(plan.floorDigest).toMatch(/^[0-9a-f]{64}$/)
    expect(plan.tasks['build']?.action.process).toMatchObject({ timeoutSeconds: 30, stdoutLimitBytes: 1000 })
    expect(plan.tasks['note']?.timeoutSeconds).toBe(60)
  })

  it.each([
    [{ policy: { processAllowlist: ['git'] } }, '5:30 floor_violation', 'policy.processAllowlist'],
    [
      { limits: { timeoutSeconds: 10 } },
      '7:94 floor_violation',
      'timeoutSeconds asks for 30, beyond the 10 that the floor set by organisation',
    ],
    [{ minimumIsolation: 'container' }, '7:12 floor_violation', 'weaker than the `container`'],
  ])('%j is a violation with its place', (spec, place, message) => {
    const { plan, diagnostics } = build(document('never'), { floor: floor(spec) })
    expect(plan).toBeNull()
    const [found] = shown(diagnostics)
    expect(found?.split(' ').slice(0, 2).join(' ')).toBe(place)
    expect(found).toContain(message)
  })
})

describe('workspace_not_captured', () => {
  it.each([
    ['a process without artifacts before a gated write', document(), 1],
    ['the same with artifacts', document('mutations', 'artifacts: ["out/**"],'), 0],
    ['the same where nothing asks', document('never'), 0],
    [
      'the same where nobody is waited for',
      document().replace('approval: mutations', 'approval: mutations, nonInteractive: fail'),
      0,
    ],
    // Only the process itself asks, which is before it has left anything.
    ['the same where only the process asks', document('high_risk'), 0],
    [
      'a gate that the process needs itself',
      workflow(`
      policy: {processAllowlist: [build], writableRoots: [out], approval: mutations}
      actions: {build: {kind: builtin.shell.exec, command: /b}, write: {kind: builtin.write}, assign: {kind: builtin.assign}}
      tasks:
        - {id: first, uses: "action:write", with: {path: out/x, content: y}}
        - {id: build, uses: "action:build", needs: [first]}
        - {id: last, uses: "action:assign", needs: [build]}
    `),
      0,
    ],
    [
      'a gate beside the process',
      workflow(`
      policy: {processAllowlist: [build], writableRoots: [out], approval: mutations}
      actions: {build: {kind: builtin.shell.exec, command: /b}, write: {kind: builtin.write}, assign: {kind: builtin.assign}}
      tasks:
        - {id: build, uses: "action:build"}
        - {id: beside, uses: "action:write", with: {path: out/x, content: y}}
        - {id: last, uses: "action:assign", needs: [build, beside]}
    `),
      1,
    ],
  ])('%s', (_, text, count) => {
    const { plan, diagnostics } = build(text)
    expect(plan).not.toBeNull()
    expect(diagnostics.map(({ code, severity }) => ({ code, severity }))).toEqual(
      Array(count).fill({ code: 'workspace_not_captured', severity: 'warning' }),
    )
  })

  it('is an error where the floor says so', () => {
    const { plan, diagnostics } = build(document(), { floor: floor({ workspaceNotCaptured: 'error' }) })
    expect(plan).toBeNull()
    expect(diagnostics).toMatchObject([{ code: 'workspace_not_captured', severity: 'error', line: 12 }])
  })
})

describe('what later versions run', () => {
  const action = (definition: string): string =>
    workflow(`actions: {x: ${definition}}\ntasks: [{id: a, uses: "action:x"}]`)
  const image = `sha256:${'0'.repeat(64)}`
  it.each([
    [
      'agents',
      workflow('providers: {f: {kind: fake}}\nagents: {x: {provider: f, model: m}}\ntasks: [{id: a, uses: "agent:x"}]'),
      'spec.tasks[0].uses',
    ],
    ['embeddings', `${workflow(smallest)}  memory: {longTerm: {embedding: {}}}\n`, 'spec.memory.longTerm.embedding'],
    ['applying diffs', action('{kind: builtin.apply_diff}'), 'spec.actions.x.kind'],
    ['MCP', action('{kind: mcp.call}'), 'spec.actions.x.kind'],
    ['A2A', action('{kind: a2a.delegate}'), 'spec.actions.x.kind'],
    [
      '`isolation: cell`',
      action(`{kind: builtin.shell.exec, command: x, isolation: cell, cell: {image: "${image}", workspace: w}}`),
      'spec.actions.x.isolation',
    ],
  ])('%s is unsupported_capability where it is used', (feature, text, path) => {
    const { plan, diagnostics } = build(text)
    expect(plan).toBeNull()
    const found = diagnostics.filter(({ code }) => code === 'unsupported_capability')
    expect(found).toMatchObject([{ path, line: expect.any(Number), severity: 'error' }])
    expect(found[0]?.message).toContain(feature)
  })

  it('is no fault where it is only declared', () => {
    const text = workflow(`
      providers: {f: {kind: openai, credential: {env: KEY}, headers: {x: {env: H}}}}
      agents: {x: {provider: f, model: m, reasoning: {effort: high}, tools: [t]}}
      tools:
        t: {kind: builtin.echo, description: d, inputSchema: {}, outputSchema: {}, capability: c, risk: low, effectClass: pure, idempotency: pure, retrySafe: true, timeoutSeconds: 5}
      mcpServers: {s: {url: "http://127.0.0.1/mcp", protocolVersion: 2025-11-25}}
      a2aPeers: {p: {cardUrl: "http://127.0.0.1/card"}}
      memory: {longTerm: {retentionDays: 30}}
      compensation: {onFailure: manual}
      packTrust: {unsigned: deny}
      actions: {assign: {kind: builtin.assign}, later: {kind: mcp.call}}
      tasks: [{id: a, uses: "action:assign"}]
    `)
    expect(build(text)).toMatchObject({ plan: { order: ['a'] }, diagnostics: [] })
  })
})

describe('versions', () => {
  const head = (apiVersion: string): string => `apiVersion: ${apiVersion}\nkind: Workflow\nmetadata: {name: test}\n`
  it('warns of the older name', () => {
    const { plan, diagnostics } = build(workflow(smallest, head('agentctl.dev/v1alpha1')))
    expect(plan).not.toBeNull()
    expect(diagnostics).toMatchObject([{ code: 'migration_required', severity: 'warning', line: 1, column: 13 }])
  })
  it.each([
    [head('agentctl.dev/v2'), 'unsupported_version'],
    [head('agentctl.dev/pack/v1alpha1'), 'unsupported_version'],
    ['playbook: old\n', 'migration_required'],
    [head('agentctl.dev/v1').replace('Workflow', 'SecurityFloor'), 'schema_violation'],
    ['', 'schema_violation'],
  ])('%j is refused', (start, code) => {
    expect(build(workflow(smallest, start)).diagnostics[0]).toMatchObject({ code, severity: 'error' })
  })
})
