import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Decision, decide, type EffectQuestion, type Facts, type Policy } from '../../policy/decision/index.ts'
import { effectClasses, risks } from '../../policy/effect.ts'
import {
  containerFacts,
  decided,
  defaultOrigins,
  policy,
  processEffect,
  processFacts,
  readEffect,
  readFacts,
  writeEffect,
  writeFacts,
} from './questions.ts'

const roots = { writableRoots: ['out'] }
const git = { processAllowlist: ['git'] }
const pure: EffectQuestion = {
  ...writeEffect,
  operation: 'builtin.assign',
  tool: 'builtin.assign',
  effectClass: 'pure',
  risk: 'low',
}
const memory: EffectQuestion = {
  ...writeEffect,
  operation: 'builtin.memory.write',
  tool: 'memory.write',
  capabilities: [],
  effectClass: 'internal_state',
  risk: 'low',
}
const model: EffectQuestion = {
  ...writeEffect,
  operation: 'agent',
  tool: 'model',
  effectClass: 'model',
  input: { provider: 'openai' },
}
const none: Facts = { kind: 'none' }
const unknown = (cause: string): Facts => ({ kind: 'write', path: { known: false, cause, detail: `${cause} it is` } })
const write = (change: object): Facts => ({
  kind: 'write',
  path: { ...(writeFacts as { path: object }).path, ...change } as never,
})
const environment = (source: string, sha256: string | null = 'b'.repeat(64)) =>
  processFacts({ environment: { TOKEN: { source, sha256 } } })

type Row = [name: string, effect: EffectQuestion, facts: Facts, change: Partial<Policy>, step: string, rule: string]

const denials: Row[] = [
  [
    'a hidden tool of an agent',
    { ...writeEffect, agent: 'a' },
    writeFacts,
    { ...roots, toolsDeny: ['filesystem.write'] },
    'visible',
    'toolsDeny',
  ],
  ['a denied tool', writeEffect, writeFacts, { ...roots, toolsDeny: ['filesystem.write'] }, 'authorised', 'toolsDeny'],
  [
    'a denied capability',
    writeEffect,
    writeFacts,
    { ...roots, toolsDeny: ['workspace.write'] },
    'authorised',
    'toolsDeny',
  ],
  [
    'a tool denied by the kind of its action',
    writeEffect,
    writeFacts,
    { ...roots, toolsDeny: ['builtin.write'] },
    'authorised',
    'toolsDeny',
  ],
  [
    'a tool denied and allowed',
    writeEffect,
    writeFacts,
    { ...roots, toolsDeny: ['filesystem.write'], toolsAllow: ['filesystem.write'] },
    'authorised',
    'toolsDeny',
  ],
  ['a denied pure tool', pure, none, { toolsDeny: ['builtin.assign'] }, 'authorised', 'toolsDeny'],
  [
    'a tool that is not listed',
    writeEffect,
    writeFacts,
    { ...roots, toolsAllow: ['filesystem.read'] },
    'authorised',
    'toolsAllow',
  ],
  [
    'an allow list that came out empty',
    writeEffect,
    writeFacts,
    { ...roots, toolsAllow: [] },
    'authorised',
    'toolsAllow',
  ],
  [
    'one of two capabilities not listed',
    { ...writeEffect, capabilities: ['a', 'b'] },
    writeFacts,
    { ...roots, toolsAllow: ['a'] },
    'authorised',
    'toolsAllow',
  ],
  [
    'no capability at all and an unlisted tool',
    { ...writeEffect, capabilities: [] },
    writeFacts,
    { ...roots, toolsAllow: ['a'] },
    'authorised',
    'toolsAllow',
  ],
  ['a provider that is not listed', model, none, { providers: ['google'] }, 'authorised', 'providers'],
  ['a model without provider', { ...model, input: {} }, none, {}, 'authorised', 'providers'],
  ['a write without facts', writeEffect, none, roots, 'resource', 'missing_facts'],
  ['a write with facts of a read', writeEffect, readFacts, roots, 'resource', 'missing_facts'],
  ['a read without facts', readEffect, none, {}, 'resource', 'missing_facts'],
  ['a process without facts', processEffect, none, git, 'resource', 'missing_facts'],
  ['a model, whose network facts do not exist yet', model, none, {}, 'resource', 'missing_facts'],
  ['an external mutation', { ...memory, effectClass: 'external_mutate' }, none, {}, 'resource', 'missing_facts'],
  ['parent traversal', writeEffect, unknown('parent_traversal'), roots, 'resource', 'parent_traversal'],
  ['an unknown without cause', writeEffect, unknown(''), roots, 'resource', 'missing_facts'],
  [
    'a read that came out absolute',
    readEffect,
    { kind: 'read', path: { known: true, requested: 'l', path: '/etc/passwd' } },
    {},
    'resource',
    'workspaceRoot',
  ],
  [
    'a read that came out above',
    readEffect,
    { kind: 'read', path: { known: true, requested: 'l', path: '../x' } },
    {},
    'resource',
    'workspaceRoot',
  ],
  [
    'an unknown read',
    readEffect,
    { kind: 'read', path: { known: false, cause: 'not_found', detail: 'gone' } },
    {},
    'resource',
    'not_found',
  ],
  ['a write under no root', writeEffect, write({ root: null }), roots, 'resource', 'writableRoots'],
  ['a write under a root of another policy', writeEffect, write({ root: 'src' }), roots, 'resource', 'writableRoots'],
  ['a write with no roots at all', writeEffect, writeFacts, {}, 'resource', 'writableRoots'],
  ['a protected file under a root', writeEffect, write({ protectedBy: '.git' }), roots, 'resource', 'never_writable'],
  ['a program that is not listed', processEffect, processFacts(), {}, 'resource', 'processAllowlist'],
  [
    '`git ` with a space',
    processEffect,
    processFacts({ command: 'git ', basename: 'git ' }),
    git,
    'resource',
    'processAllowlist',
  ],
  [
    'a file under a writable root',
    processEffect,
    processFacts({
      command: '/w/build/git',
      realPath: '/w/build/git',
      passed: [{ path: '/w/build/git', untrusted: 'writable_root' }],
    }),
    git,
    'resource',
    'untrusted_program',
  ],
  [
    'a file in a temp directory',
    processEffect,
    processFacts({
      command: '/tmp/x/git',
      realPath: '/tmp/x/git',
      passed: [{ path: '/tmp/x/git', untrusted: 'temporary' }],
    }),
    git,
    'resource',
    'untrusted_program',
  ],
  [
    'a trusted file through an untrusted link',
    processEffect,
    processFacts({
      passed: [
        { path: '/opt/git', untrusted: 'others_writable' },
        { path: '/usr/bin/git', untrusted: '' },
      ],
    }),
    git,
    'resource',
    'untrusted_program',
  ],
  ['a program with no known places', processEffect, processFacts({ passed: [] }), git, 'resource', 'missing_facts'],
  [
    'an exact path that is another file',
    processEffect,
    processFacts(),
    { processAllowlist: ['/usr/local/bin/git'] },
    'resource',
    'processAllowlist',
  ],
  [
    'an unknown program',
    processEffect,
    { kind: 'process', process: { known: false, cause: 'not_found', detail: 'no git' } },
    git,
    'resource',
    'not_found',
  ],
  [
    'a variable that may not be set',
    processEffect,
    environment('SOURCE'),
    { ...git, environmentAllowlist: ['SOURCE'] },
    'resource',
    'environmentAllowlist',
  ],
  [
    'a variable that may not be read',
    processEffect,
    environment('SOURCE'),
    { ...git, environmentAllowlist: ['TOKEN'] },
    'resource',
    'environmentAllowlist',
  ],
  [
    'a variable that is not set',
    processEffect,
    environment('TOKEN', null),
    { ...git, environmentAllowlist: ['TOKEN'] },
    'resource',
    'missing_variable',
  ],
  [
    'PATH for a container',
    { ...processEffect, isolation: 'container' },
    containerFacts({ environment: { PATH: { source: 'PATH', sha256: 'c' } } }),
    { ...git, environmentAllowlist: ['PATH'] },
    'resource',
    'reserved_variable',
  ],
  [
    'a job token for a container',
    { ...processEffect, isolation: 'container' },
    containerFacts({ environment: { ACTIONS_RUNTIME_TOKEN: { source: 'X', sha256: 'c' } } }),
    { ...git, environmentAllowlist: ['ACTIONS_RUNTIME_TOKEN', 'X'] },
    'resource',
    'reserved_variable',
  ],
  [
    'a command of a container that is not on the list',
    { ...processEffect, isolation: 'container' },
    containerFacts({ command: '/usr/bin/git2', basename: 'git2' }),
    git,
    'resource',
    'processAllowlist',
  ],
  [
    'a container whose command is listed by its place on the host only',
    { ...processEffect, isolation: 'container' },
    containerFacts({ command: '/usr/bin/git' }),
    { processAllowlist: ['/usr/bin/git'] },
    'resource',
    'processAllowlist',
  ],
  [
    'a container of which only the host is known',
    { ...processEffect, isolation: 'container' },
    processFacts(),
    git,
    'resource',
    'missing_facts',
  ],
  [
    'a host process of which only a container is known',
    processEffect,
    containerFacts(),
    git,
    'resource',
    'missing_facts',
  ],
  ['an unknown risk', { ...memory, risk: '' as never }, none, {}, 'risk', 'unknown_risk'],
  ['an unknown isolation', { ...memory, isolation: 'vm' as never }, none, {}, 'risk', 'unknown_risk'],
  ['an unknown effect class', { ...memory, effectClass: '' as never }, none, {}, 'resource', 'missing_facts'],
  ['an unknown approval mode', memory, none, { approval: '' as never }, 'approval', 'approval'],
  [
    'an approval where it is denied',
    writeEffect,
    writeFacts,
    { ...roots, approval: 'always', nonInteractive: 'deny_approval' },
    'approval',
    'nonInteractive.deny_approval',
  ],
  [
    'an approval where it fails',
    writeEffect,
    writeFacts,
    { ...roots, approval: 'always', nonInteractive: 'fail' },
    'approval',
    'nonInteractive.fail',
  ],
]

describe('every denial names step, rule, subject and remedy', () => {
  it.each(denials)('%s', (_, effect, facts, change, step, rule) => {
    const decision = decided(effect, facts, change)
    const last = decision.steps.at(-1)
    expect(decision.outcome).toBe('deny')
    expect(last).toMatchObject({ outcome: 'deny', step, rule })
    expect(last?.subject).not.toBe('')
    expect(last?.remedy).not.toBe('')
    expect(decision.reason).toContain(rule)
    expect(decision.reason).toContain(last?.subject)
    expect(decision.reason).toContain(last?.remedy)
    expect(decision.steps.slice(0, -1).every(one => one.outcome === 'allow')).toBe(true)
  })
})

const allowances: [string, EffectQuestion, Facts, Partial<Policy>][] = [
  ['a write under its root', writeEffect, writeFacts, roots],
  ['a tool listed by name', writeEffect, writeFacts, { ...roots, toolsAllow: ['filesystem.write'] }],
  ['a tool listed by its capability', writeEffect, writeFacts, { ...roots, toolsAllow: ['workspace.write'] }],
  ['a pure effect under any allow list', pure, none, { toolsAllow: ['x'] }],
  ['a read', readEffect, readFacts, {}],
  [
    'a name that only begins with dots',
    readEffect,
    { kind: 'read', path: { known: true, requested: '..x', path: '..x/..y' } },
    {},
  ],
  ['memory', memory, none, {}],
  ['a listed program', processEffect, processFacts(), git],
  [
    'an exact file, wherever it lies',
    processEffect,
    processFacts({ realPath: '/w/build/git', passed: [{ path: '/w/build/git', untrusted: 'writable_root' }] }),
    { processAllowlist: ['/w/build/git'] },
  ],
  ['a container whose image holds the file', { ...processEffect, isolation: 'container' }, containerFacts(), git],
  [
    'a variable set and read',
    processEffect,
    environment('SOURCE'),
    { ...git, environmentAllowlist: ['TOKEN', 'SOURCE'] },
  ],
]

describe('what is allowed leaves all five answers', () => {
  it.each(allowances)('%s', (_, effect, facts, change) => {
    const decision = decided(effect, facts, change)
    expect(decision.reason).toBe('')
    expect(decision.outcome).toBe('allow')
    expect(decision.steps.map(step => step.step)).toEqual(['visible', 'authorised', 'resource', 'risk', 'approval'])
  })
})

describe('approval', () => {
  const outcomes: [Policy['approval'], string, string, string, string][] = [
    // mode, read low, write medium, process high, memory critical
    ['never', 'allow', 'allow', 'allow', 'allow'],
    ['mutations', 'allow', 'ask', 'ask', 'allow'],
    ['high_risk', 'allow', 'allow', 'ask', 'ask'],
    ['mutations_or_high_risk', 'allow', 'ask', 'ask', 'ask'],
    ['always', 'ask', 'ask', 'ask', 'ask'],
  ]
  it.each(outcomes)('%s', (approval, read, written, run, kept) => {
    const change = { ...roots, ...git, approval }
    expect(decided(readEffect, readFacts, change).outcome).toBe(read)
    expect(decided(writeEffect, writeFacts, change).outcome).toBe(written)
    expect(decided(processEffect, processFacts(), change).outcome).toBe(run)
    expect(decided({ ...memory, risk: 'critical' }, none, change).outcome).toBe(kept)
  })

  it("adds a tool's always and does not weaken by its never", () => {
    expect(decided({ ...memory, toolApproval: 'always' }, none).outcome).toBe('ask')
    expect(
      decided({ ...writeEffect, toolApproval: 'never' }, writeFacts, { ...roots, approval: 'mutations' }).outcome,
    ).toBe('ask')
  })

  it('asks for what a parent run confirmed, whatever the mode', () => {
    const decision = decided({ ...writeEffect, confirmedByParent: 'run 7 at noon' }, writeFacts, roots)
    expect(decision).toMatchObject({ outcome: 'ask', steps: [{}, {}, {}, {}, { rule: 'confirmed_by_parent' }] })
    expect(decision.reason).toContain('run 7 at noon')
  })

  it('asks a person at a terminal whatever nonInteractive says', () => {
    const change = { ...roots, approval: 'always' as const, nonInteractive: 'fail' as const }
    expect(decided(writeEffect, writeFacts, change, { canPause: true }).outcome).toBe('ask')
  })

  it('denies before it asks', () => {
    expect(decided(writeEffect, writeFacts, { approval: 'always' }).outcome).toBe('deny')
  })

  it('tells the two denials apart in their reason', () => {
    const reasons = (['deny_approval', 'fail'] as const).map(
      nonInteractive => decided(writeEffect, writeFacts, { ...roots, approval: 'always', nonInteractive }).reason,
    )
    expect(new Set(reasons).size).toBe(2)
  })
})

it('sends people to the floor for a rule that the floor set', () => {
  const origins = { ...defaultOrigins, writableRoots: 'floor' as const }
  const decision = decided(writeEffect, writeFacts, {}, { origins })
  expect(decision.steps.at(-1)).toMatchObject({ origin: 'floor', remedy: expect.stringContaining('floor') })
})

it('answers the same question the same way, and a deny stays one under more denials', () => {
  const effects = fc.record({
    effectClass: fc.constantFrom(...effectClasses),
    risk: fc.constantFrom(...risks),
    tool: fc.constantFrom('a', 'b', 'c'),
    capabilities: fc.array(fc.constantFrom('a', 'x', 'y'), { maxLength: 3 }),
  })
  const lists = fc.record({
    toolsAllow: fc.oneof(fc.constant('any' as const), fc.array(fc.constantFrom('a', 'b', 'x', 'y'))),
    toolsDeny: fc.array(fc.constantFrom('a', 'b', 'x'), { maxLength: 2 }),
    approval: fc.constantFrom('never' as const, 'mutations' as const, 'always' as const),
  })
  const facts = fc.constantFrom(none, writeFacts, readFacts, processFacts())
  fc.assert(
    fc.property(effects, lists, facts, (part, list, fact) => {
      const effect = { ...writeEffect, ...part }
      const change = { ...roots, ...git, ...list }
      const once: Decision = decided(effect, fact, change)
      expect(decided(effect, fact, change)).toEqual(once)
      const stricter = decided(effect, fact, { ...change, toolsDeny: [...list.toolsDeny, 'c', 'y'] })
      if (once.outcome === 'deny') expect(stricter.outcome).toBe('deny')
      if (stricter.outcome === 'allow') expect(once.outcome).toBe('allow')
    }),
  )
})

it('costs no more under 2,000 rules than under 20', () => {
  const names = (length: number) => Array.from({ length }, (_, number) => `tool-${number}`)
  const best = (rules: number) => {
    const input = {
      effect: writeEffect,
      facts: writeFacts,
      policy: policy({
        writableRoots: ['out', ...names(rules)],
        toolsDeny: names(rules),
        toolsAllow: ['filesystem.write', ...names(rules)],
      }),
      origins: defaultOrigins,
      canPause: false,
    }
    const rounds = Array.from({ length: 15 }, () => {
      const start = performance.now()
      for (let n = 0; n < 2000; n++) decide(input)
      return performance.now() - start
    })
    return Math.min(...rounds)
  }
  best(20)
  expect(best(2000)).toBeLessThan(best(20) * 5)
})
