import { describe, expect, it } from 'vitest'
import { build, type Options, planOf, shown } from './support.ts'

/** The rows of the specification's tables: what each field takes, its bounds and defaults, and what is refused. */

type Value = null | boolean | number | string | Value[] | { [key: string]: Value }
type Fields = { [key: string]: Value }

const image = `worker@sha256:${'a'.repeat(64)}`
const secret = { env: 'A' }
const tool: Fields = {
  kind: 'builtin.echo',
  description: 'd',
  inputSchema: true,
  outputSchema: true,
  capability: 'c',
  risk: 'low',
  effectClass: 'pure',
  idempotency: 'pure',
  retrySafe: true,
  timeoutSeconds: 1,
}
const subworkflow: Fields = {
  version: '1',
  inputSchema: true,
  outputSchema: true,
  tasks: [{ id: 'x', uses: 'action:x' }],
}
const agent: Fields = { provider: 'p', model: 'm' }

function textOf(spec: Fields): string {
  const base = { actions: { x: { kind: 'builtin.assign' } }, tasks: [{ id: 'a', uses: 'action:x' }] }
  return JSON.stringify({
    apiVersion: 'agentctl.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'n' },
    spec: { ...base, ...spec },
  })
}

const withAction = (fields: Fields): Fields => ({
  policy: { environmentAllowlist: ['A'] },
  actions: { x: { kind: 'builtin.assign' }, p: { kind: 'builtin.shell.exec', command: 'true', ...fields } },
})
const withTask = (fields: Fields): Fields => ({ tasks: [{ id: 'a', uses: 'action:x', ...fields }] })
const withAgent = (fields: Fields): Fields => ({
  providers: { p: { kind: 'fake' } },
  agents: { a: { ...agent, ...fields } },
})
const withTool = (fields: Fields): Fields => ({ tools: { t: { ...tool, ...fields } } })
const withFlow = (fields: Fields): Fields => ({ subworkflows: { f: { ...subworkflow, ...fields } } })
const without = (fields: Fields, name: string): Fields => {
  const { [name]: _, ...rest } = fields
  return rest
}
const pack = { name: 'p', version: '^1', source: { path: 'p.yaml' } }

function accepted(spec: Fields, options: Options = {}): void {
  expect(shown(build(textOf(spec), options).diagnostics)).toEqual([])
}

function refused(spec: Fields, message: string): void {
  const { plan, diagnostics } = build(textOf(spec))
  expect(plan).toBeNull()
  expect(shown(diagnostics).join('\n')).toContain(message)
}

describe('fields of `spec`', () => {
  it.each<[string, Fields]>([
    ['inputs', { inputs: { a: 1, b: [null], c: { d: 'e' } } }],
    ['outputs', { inputs: { a: 1 }, outputs: { a: '${{ inputs.a }}', b: 'text', t: '${{ tasks.a.output }}' } }],
    ['vars', { vars: { a: 1, b: [2] } }],
    ['varsFiles', { varsFiles: [] }],
    ...['fake', 'openai', 'azure_openai', 'anthropic', 'google'].map((kind): [string, Fields] => [
      `providers of kind ${kind}`,
      { providers: { p: { kind, endpoint: 'https://h.example', apiVersion: '1' } } },
    ]),
    ['agents', withAgent({})],
    [
      'agents, every field',
      withAgent({
        description: 'd',
        instructions: 'i',
        vars: { a: 1 },
        varsFiles: [],
        tools: [],
        stream: true,
        maxTurns: 1,
        maxToolCalls: 0,
        maxOutputTokens: 1,
        timeoutSeconds: 1,
        retry: { maxAttempts: 2, backoffMs: 1 },
        reasoning: { effort: 'xhigh', mode: 'm' },
        structuredOutput: { type: 'object' },
        usageLimit: { maxInputTokens: 1, maxOutputTokens: 1, maxCostUsd: 0.5 },
        providerOptions: { any: [1] },
      }),
    ],
    ...['none', 'low', 'medium', 'high', 'xhigh', 'max'].map((effort): [string, Fields] => [
      `effort ${effort}`,
      withAgent({ reasoning: { effort } }),
    ]),
    ...['builtin.workspace.read', 'builtin.workspace.write', 'builtin.echo'].map((kind): [string, Fields] => [
      `tools of kind ${kind}`,
      withTool({ kind }),
    ]),
    ...['policy', 'never', 'always'].map((approval): [string, Fields] => [
      `tools, ${approval}`,
      withTool({ approval }),
    ]),
    [
      'a sub-workflow without schemas',
      { subworkflows: { f: without(without(subworkflow, 'inputSchema'), 'outputSchema') } },
    ],
    ['subworkflows', withFlow({ inputs: { a: 1 }, outputs: { b: '${{ tasks.x.output }}' } })],
    [
      'memory',
      { memory: { working: { a: null }, longTerm: { provider: 'sqlite', namespace: 'n', retentionDays: 1 } } },
    ],
    ['mcpServers', { mcpServers: { m: { url: 'https://h.example' } } }],
    ['a2aPeers', { a2aPeers: { p: { cardUrl: 'https://h.example' } } }],
    ['packTrust', { packTrust: { unsigned: 'deny', allowUnsignedProcess: true } }],
    ...['manual', 'automatic'].map((onFailure): [string, Fields] => [onFailure, { compensation: { onFailure } }]),
    ...['policy', 'never', 'always'].map((approval): [string, Fields] => [
      `compensation.approval ${approval}`,
      { compensation: { approval } },
    ]),
    [
      'runtime.pricing',
      {
        runtime: {
          pricing: {
            version: '1',
            models: { 'p/m': { inputMicrousdPerMillionTokens: 1, outputMicrousdPerMillionTokens: 1 } },
          },
        },
      },
    ],
    ['output', { output: { verbose: true, showDiff: false } }],
  ])('%s', (_, spec) => {
    accepted(spec)
  })

  it.each<[string, Fields, string]>([
    ['inputs that are no map', { inputs: [1] }, 'spec.inputs must be a map'],
    ['outputs that read nothing', { outputs: { a: '${{ tasks.none.output }}' } }, 'there is no task `none`'],
    ['vars that are no map', { vars: 'x' }, 'spec.vars must be a map'],
    ['a vars file that leads out', { varsFiles: ['../v.yaml'] }, 'is not a relative path inside the workspace'],
    ['a vars file that is not there', { varsFiles: ['v.yaml'] }, 'the file v.yaml cannot be read'],
    ['a provider of no known kind', { providers: { p: { kind: 'x' } } }, 'spec.providers.p.kind'],
    ['a provider without a kind', { providers: { p: {} } }, 'spec.providers.p.kind'],
    ['an agent without a provider', withAgent({ provider: null }), 'spec.agents.a.provider'],
    ['an agent without a model', { agents: { a: { provider: 'p' } } }, 'spec.agents.a.model'],
    ['an effort that is none', withAgent({ reasoning: { effort: 'huge' } }), 'spec.agents.a.reasoning.effort'],
    ['reasoning without effort', withAgent({ reasoning: {} }), 'spec.agents.a.reasoning.effort'],
    ...Object.keys(tool).map((field): [string, Fields, string] => [
      `a tool without ${field}`,
      { tools: { t: without(tool, field) } },
      `spec.tools.t.${field}`,
    ]),
    ...['version', 'tasks'].map((field): [string, Fields, string] => [
      `a sub-workflow without ${field}`,
      { subworkflows: { f: without(subworkflow, field) } },
      `spec.subworkflows.f.${field}`,
    ]),
    ['no tasks', { tasks: [] }, 'spec.tasks'],
    ['long-term memory elsewhere', { memory: { longTerm: { provider: 'redis' } } }, 'spec.memory.longTerm.provider'],
    ['an MCP server without a url', { mcpServers: { m: {} } }, 'spec.mcpServers.m.url'],
    ['a peer without a card', { a2aPeers: { p: {} } }, 'spec.a2aPeers.p.cardUrl'],
    ['a pack without a version', { packs: [without(pack, 'version')] }, 'spec.packs[0].version'],
    ['a pack without a source', { packs: [without(pack, 'source')] }, 'spec.packs[0].source'],
    ['an integrity that is none', { packs: [{ ...pack, integrity: 'sha256:00' }] }, 'spec.packs[0].integrity'],
    ['trust that is none', { packTrust: { unsigned: 'maybe' } }, 'spec.packTrust.unsigned'],
    ['compensation that is none', { compensation: { onFailure: 'never' } }, 'spec.compensation.onFailure'],
    ['prices without a version', { runtime: { pricing: { models: {} } } }, 'spec.runtime.pricing.version'],
    [
      'a price below nothing',
      {
        runtime: {
          pricing: {
            version: '1',
            models: { m: { inputMicrousdPerMillionTokens: -1, outputMicrousdPerMillionTokens: 1 } },
          },
        },
      },
      'inputMicrousdPerMillionTokens',
    ],
    ['output that is no flag', { output: { verbose: 'yes' } }, 'spec.output.verbose'],
    ...['spec', 'memory', 'runtime', 'output', 'compensation', 'packTrust', 'policy'].map(
      (part): [string, Fields, string] => [
        `an unknown field of ${part}`,
        part === 'spec' ? { surprise: 1 } : { [part]: { surprise: 1 } },
        'unknown field `surprise`',
      ],
    ),
  ])('%s is refused', (_, spec, message) => {
    refused(spec, message)
  })
})

const mebibyte = 1_048_576

describe('bounds', () => {
  const rows: [string, number, number, (value: number) => Fields][] = [
    ['action.timeoutSeconds', 1, 86_400, value => withAction({ timeoutSeconds: value })],
    ['action.stdoutLimitBytes', 1, 16 * mebibyte, value => withAction({ stdoutLimitBytes: value })],
    ['action.stderrLimitBytes', 1, 16 * mebibyte, value => withAction({ stderrLimitBytes: value })],
    ['action.combinedOutputLimitBytes', 1, 16 * mebibyte, value => withAction({ combinedOutputLimitBytes: value })],
    [
      'container.memoryLimitBytes',
      16 * mebibyte,
      16_384 * mebibyte,
      value => withAction({ isolation: 'container', container: { image, memoryLimitBytes: value } }),
    ],
    [
      'container.cpuLimitMillis',
      1,
      64_000,
      value => withAction({ isolation: 'container', container: { image, cpuLimitMillis: value } }),
    ],
    [
      'container.pidsLimit',
      1,
      4_096,
      value => withAction({ isolation: 'container', container: { image, pidsLimit: value } }),
    ],
    ['task.timeoutSeconds', 1, 86_400, value => withTask({ timeoutSeconds: value })],
    ['task.foreach.maxItems', 1, 256, value => withTask({ foreach: { items: [1], maxItems: value } })],
    ['task.matrix.maxItems', 1, 256, value => withTask({ matrix: { axes: { n: [1] }, maxItems: value } })],
    [
      'task.loop.maxIterations',
      1,
      64,
      value => withTask({ loop: { maxIterations: value, while: 'vars.loopIndex < 1' } }),
    ],
    ['runtime.maxConcurrency', 1, 64, value => ({ runtime: { maxConcurrency: value } })],
    ['runtime.defaultTimeoutSeconds', 1, 86_400, value => ({ runtime: { defaultTimeoutSeconds: value } })],
    ['memory.longTerm.retentionDays', 1, 36_500, value => ({ memory: { longTerm: { retentionDays: value } } })],
    ['a2aPeers.maxPolls', 1, 1_000, value => ({ a2aPeers: { p: { cardUrl: 'https://h.example', maxPolls: value } } })],
    [
      'a2aPeers.pollIntervalMs',
      1,
      60_000,
      value => ({ a2aPeers: { p: { cardUrl: 'https://h.example', pollIntervalMs: value } } }),
    ],
    [
      'mcpServers.timeoutSeconds',
      1,
      86_400,
      value => ({ mcpServers: { m: { url: 'https://h.example', timeoutSeconds: value } } }),
    ],
    [
      'policy.network.connectTimeoutSeconds',
      1,
      120,
      value => ({ policy: { network: { connectTimeoutSeconds: value } } }),
    ],
    [
      'policy.network.maxResponseBytes',
      1,
      64 * mebibyte,
      value => ({ policy: { network: { maxResponseBytes: value } } }),
    ],
  ]

  it.each(rows)('%s: %i and %i, and nothing beyond', (name, least, most, spec) => {
    accepted(spec(least))
    accepted(spec(most))
    const field = name.split('.').at(-1) ?? ''
    refused(spec(least - 1), field)
    refused(spec(most + 1), field)
    refused(spec(least + 0.5), field)
    refused(
      { ...spec(least), ...(JSON.parse(JSON.stringify(spec(least)).replaceAll(`:${least}`, ':"1"')) as Fields) },
      field,
    )
  })
})

describe('tasks', () => {
  const two = (fields: Fields): Fields => ({
    tasks: [
      { id: 'a', uses: 'action:x' },
      { id: 'b', uses: 'action:x', ...fields },
    ],
  })

  it.each<[string, Fields]>([
    ['needs', two({ needs: ['a'] })],
    ['when', { inputs: { go: true }, ...withTask({ when: 'inputs.go' }) }],
    ['vars and with', withTask({ vars: { v: 1 }, with: { v: '${{ vars.v }}', c: '${{ vars.v == 1 }}' } })],
    ['retry', withTask({ retry: { maxAttempts: 20, backoffMs: 60_000 } })],
    ['failure', withTask({ failure: 'continue' })],
    ['memoryWrites', withTask({ memoryWrites: ['k'] })],
    [
      'compensate',
      withTask({
        compensate: {
          uses: 'action:x',
          with: { v: '${{ tasks.a.output }}' },
          retry: { maxAttempts: 2 },
          timeoutSeconds: 1,
        },
      }),
    ],
    ['outputSchema', withTask({ outputSchema: { type: 'object' } })],
  ])('%s', (_, spec) => {
    accepted(spec)
  })

  it.each<[string, Fields, string]>([
    ['without id', { tasks: [{ uses: 'action:x' }] }, 'spec.tasks[0].id'],
    ['without uses', { tasks: [{ id: 'a' }] }, 'spec.tasks[0].uses'],
    [
      'of one id',
      {
        tasks: [
          { id: 'a', uses: 'action:x' },
          { id: 'a', uses: 'action:x' },
        ],
      },
      'duplicate_task',
    ],
    ['that needs what is not there', two({ needs: ['c'] }), 'missing_reference'],
    [
      'that need each other',
      {
        tasks: [
          { id: 'a', uses: 'action:x', needs: ['b'] },
          { id: 'b', uses: 'action:x', needs: ['a'] },
        ],
      },
      'dependency_cycle',
    ],
    ['that reads what it does not need', two({ with: { v: '${{ tasks.a.output }}' } }), 'invalid_template'],
    ['that uses nothing known', withTask({ uses: 'job:x' }), 'names nothing that a task can use'],
    ['that uses no action', withTask({ uses: 'action:y' }), 'spec.actions has no `y`'],
    ['that uses no agent', withTask({ uses: 'agent:y' }), 'spec.agents has no `y`'],
    ['that uses no sub-workflow', withTask({ uses: 'workflow:y' }), 'spec.subworkflows has no `y`'],
    ['that fails in a way that is none', withTask({ failure: 'ignore' }), 'spec.tasks[0].failure'],
    ['that is tried 21 times', withTask({ retry: { maxAttempts: 21 } }), 'retry.maxAttempts must be at most 20'],
    ['that is never tried', withTask({ retry: { maxAttempts: 0 } }), 'retry.maxAttempts must be at least 1'],
    [
      'whose compensation is no action',
      withTask({ compensate: { uses: 'workflow:f' } }),
      'a compensation uses one action',
    ],
    ['whose compensation uses nothing', withTask({ compensate: {} }), 'spec.tasks[0].compensate.uses'],
    [
      'whose output has no schema that is one',
      withTask({ outputSchema: { type: 'text' } }),
      '`type` must be a name of a type',
    ],
    ['with a condition that is none', withTask({ when: 'inputs.a and inputs.b' }), 'invalid_template'],
    ['that runs code', withTask({ with: { v: '${{ process.exit() }}' } }), 'invalid_template'],
    ['with an unknown field', withTask({ surprise: 1 }), 'unknown field `surprise`'],
    ...[
      ['foreach', { items: [1] }],
      ['matrix', { axes: { n: [1] } }],
      ['loop', { maxIterations: 1, while: 'vars.loopIndex < 1' }],
    ].flatMap(([name, value], index, all): [string, Fields, string][] =>
      all
        .slice(index + 1)
        .map(([other, value2]) => [
          `with ${String(name)} and ${String(other)}`,
          withTask({ [String(name)]: value as Value, [String(other)]: value2 as Value }),
          'cannot stand in one task',
        ]),
    ),
    [
      'with loop and when',
      withTask({ loop: { maxIterations: 1, while: 'vars.loopIndex < 1' }, when: 'vars.x' }),
      'when',
    ],
  ])('%s are refused', (_, spec, message) => {
    refused(spec, message)
  })
})

describe('actions', () => {
  it.each<[string, Fields]>([
    ...['pure', 'idempotent', 'keyed', 'at_most_once', 'unknown'].map((idempotency): [string, Fields] => [
      idempotency,
      withAction({ idempotency }),
    ]),
    [
      'every field of a process',
      withAction({
        description: 'd',
        args: ['a'],
        cwd: 'sub',
        env: { A: secret },
        artifacts: ['out/*'],
        isolation: 'process',
        inputSchema: true,
        outputSchema: { type: 'object' },
      }),
    ],
    ['a container', withAction({ isolation: 'container', container: { image, runtime: 'podman' } })],
    ['an image by its id', withAction({ isolation: 'container', container: { image: `sha256:${'b'.repeat(64)}` } })],
  ])('%s', (_, spec) => {
    accepted(spec)
  })

  it.each<[string, Fields, string]>([
    ['without a kind', { actions: { x: {} } }, 'spec.actions.x.kind'],
    ['of no known kind', { actions: { x: { kind: 'builtin.nothing' } } }, 'spec.actions.x.kind'],
    ['that run a process without a command', { actions: { x: { kind: 'builtin.shell.exec' } } }, 'has no command'],
    ['whose idempotency is none', withAction({ idempotency: 'maybe' }), 'spec.actions.p.idempotency'],
    ['isolated by nothing known', withAction({ isolation: 'vm' }), 'spec.actions.p.isolation'],
    [
      'with an image by its tag',
      withAction({ isolation: 'container', container: { image: 'worker:latest' } }),
      'spec.actions.p.container.image',
    ],
    [
      'with a runtime that is none',
      withAction({ isolation: 'container', container: { image, runtime: 'lxc' } }),
      'spec.actions.p.container.runtime',
    ],
    ['with a plain value in env', withAction({ env: { A: 'plain' } }), 'a secret reference is exactly one of'],
    [
      'with two sources in env',
      withAction({ env: { A: { env: 'A', file: 'f' } } }),
      'a secret reference is exactly one of',
    ],
    ['with an unknown field', withAction({ surprise: 1 }), 'unknown field `surprise`'],
    [
      'with a command that runs no process',
      { actions: { x: { kind: 'builtin.assign', command: 'true' } } },
      'has no meaning for builtin.assign',
    ],
    ['with args that are no list', withAction({ args: 'a b' }), 'spec.actions.p.args'],
  ])('%s are refused', (_, spec, message) => {
    refused(spec, message)
  })
})

describe('kinds', () => {
  const extension = {
    command: 'true',
    protocolVersion: 'agentctl.dev/process-extension/v1',
    capabilities: [],
    inputSchema: {},
    outputSchema: {},
  }
  const path = { path: 'a' }
  const key = { key: 'k' }
  it.each<[string, Fields, Fields, string, string, string, string]>([
    ['builtin.assign', {}, { anything: [1] }, 'builtin.assign', 'pure', 'low', 'pure'],
    ['builtin.assert', {}, { that: true, message: 'm' }, 'builtin.assert', 'pure', 'low', 'pure'],
    ['builtin.read', {}, path, 'filesystem.read', 'observe', 'low', 'idempotent'],
    ['builtin.write', {}, { ...path, content: '' }, 'filesystem.write', 'workspace_mutate', 'medium', 'idempotent'],
    ['builtin.shell.exec', { command: 'true' }, {}, 'process.exec', 'process_execution', 'high', 'unknown'],
    ['extension.process', extension, {}, 'process.exec', 'process_execution', 'high', 'unknown'],
    ['builtin.memory.read', {}, key, 'memory.read', 'internal_state', 'low', 'keyed'],
    ['builtin.memory.write', {}, { ...key, value: null }, 'memory.write', 'internal_state', 'low', 'keyed'],
    ['builtin.long_term_memory.read', {}, key, 'long_term_memory.read', 'observe', 'medium', 'keyed'],
    ['builtin.long_term_memory.search', {}, { query: 'q' }, 'long_term_memory.search', 'observe', 'medium', 'keyed'],
    [
      'builtin.long_term_memory.write',
      {},
      { ...key, value: 1 },
      'long_term_memory.write',
      'external_mutate',
      'medium',
      'keyed',
    ],
    ['builtin.long_term_memory.promote', {}, key, 'long_term_memory.promote', 'internal_state', 'medium', 'keyed'],
  ])('%s', (kind, fields, given, name, effectClass, risk, idempotency) => {
    const spec = { actions: { x: { kind, ...fields } }, tasks: [{ id: 'a', uses: 'action:x', with: given }] }
    expect(planOf(textOf(spec)).tasks['a']?.action).toMatchObject({ tool: name, effectClass, risk, idempotency })
  })

  it.each<[string, Fields, string]>([
    ['builtin.assert', {}, 'needs `that`'],
    ['builtin.assert', { that: 'yes' }, '`that`'],
    ['builtin.assert', { that: true, other: 1 }, 'does not take `other`'],
    ['builtin.read', {}, 'needs `path`'],
    ['builtin.read', { path: 1 }, '`path`'],
    ['builtin.read', { ...path, content: 'x' }, 'does not take `content`'],
    ['builtin.write', { content: 'x' }, 'needs `path`'],
    ['builtin.write', path, 'needs `content`'],
    ['builtin.write', { ...path, content: 1 }, '`content`'],
    ['builtin.memory.read', {}, 'needs `key`'],
    ['builtin.memory.write', key, 'needs `value`'],
    ['builtin.long_term_memory.read', {}, 'needs `key`'],
    ['builtin.long_term_memory.search', {}, 'needs `query`'],
    ['builtin.long_term_memory.write', key, 'needs `value`'],
    ['builtin.long_term_memory.promote', {}, 'needs `key`'],
  ])('%s with %j is refused', (kind, given, message) => {
    refused({ actions: { x: { kind } }, tasks: [{ id: 'a', uses: 'action:x', with: given }] }, message)
  })

  it('a process takes no input', () => {
    refused(
      {
        actions: { x: { kind: 'builtin.shell.exec', command: 'true' } },
        tasks: [{ id: 'a', uses: 'action:x', with: { a: 1 } }],
      },
      'does not take `a`',
    )
  })
})
