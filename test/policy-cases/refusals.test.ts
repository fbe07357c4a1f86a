import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  compiledPolicy,
  decide,
  type EffectQuestion,
  type Facts,
  policyDefaults,
  refusedSecret,
  targetRemedies,
} from '../../policy/decision/index.ts'
import { effectClasses, isolations, risks } from '../../policy/effect.ts'
import { CommandFault, type CommandFaultCode } from '../../runner/facts/command-fault.ts'
import { processEffect, processFacts, readFacts, writeEffect, writeFacts } from '../decision/questions.ts'

/** Every refusal names the rule, the subject and the remedy: found in the sources, so that a new one is met too. */
const root = path.resolve(import.meta.dirname, '../..')
const sources = (folder: string): [file: string, text: string][] =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => [path.join(folder, name), readFileSync(path.join(root, folder, name), 'utf8')])

const found = (texts: [string, string][], ...patterns: RegExp[]): string[] => [
  ...new Set(
    texts.flatMap(([, text]) => patterns.flatMap(one => [...text.matchAll(one)].map(match => match[1] ?? ''))),
  ),
]

const generic = /make (the fact|it|the host) \w+ (to|for) agentctl/
const origins = Object.fromEntries(Object.keys(policyDefaults).map(field => [field, 'default'])) as never
const decided = (effect: EffectQuestion, facts: Facts) =>
  decide({ effect, facts, policy: policyDefaults, origins, canPause: true })

describe('a fact that is not known', () => {
  const causes = found(
    sources('runner/facts'),
    /new UnknownFact\(\s*'(\w+)'/g,
    /\brefuse\('(\w+)'/g,
    /^ {2}E\w+: \['(\w+)'/gm,
  )
  test('the walk meets the causes', () => {
    expect(causes).toEqual(expect.arrayContaining(['symlink_escape', 'not_permitted', 'tilde', 'unicode_form']))
    expect(causes.length).toBeGreaterThan(14)
  })

  test.each(causes)('%s says what to do', cause => {
    const fact = { known: false, requested: 'x', cause, detail: 'it is odd' } as const
    const asked: [EffectQuestion, Facts][] = [
      [writeEffect, { kind: 'write', path: fact }],
      [processEffect, { kind: 'process', process: fact }],
    ]
    for (const [effect, facts] of asked) {
      const { reason, steps } = decided(effect, facts)
      const { rule, subject, remedy } = steps.at(-1) ?? { rule: '', subject: '', remedy: '' }
      expect(rule).toBe(cause)
      expect(subject).not.toBe('')
      expect(remedy).not.toMatch(generic)
      expect(reason).toBe(`${cause} refuses ${subject}: it is odd; ${remedy}`)
    }
  })
})

describe('a secret that is not to be had', () => {
  const files = found(
    [...sources('runner/secrets').filter(([file]) => /(file|text)\.ts$/.test(file))],
    /new UnknownFact\(\s*'(\w+)'/g,
    /cause: '(\w+)'/g,
  ).filter(cause => cause !== 'root_unusable')
  const rules = { ...compiledPolicy({ ...policyDefaults, secretFileRoots: ['s'], secretProcessAllowlist: ['h'] }) }

  test.each(files)('file: %s', cause => {
    const fault = { known: false, cause, detail: '"s/x" is odd' } as const
    const refusal = refusedSecret(rules, { file: 's/x', root: 's', path: 's/x', sha256: null, fault })
    expect(refusal).toMatchObject({ rule: cause, detail: 'the secret file "s/x" is odd' })
    expect(refusal?.change).not.toMatch(generic)
  })

  const codes: CommandFaultCode[] = [
    'command_not_found',
    'command_is_directory',
    'command_not_executable',
    'bad_interpreter',
  ]
  test.each(codes)('program: %s, for a helper and for an action', cause => {
    const program = { known: false, cause, detail: 'it is odd' } as const
    const refusal = refusedSecret(rules, { helper: 'h', program })
    expect(refusal).toMatchObject({ rule: cause })
    expect(refusal?.change).not.toMatch(generic)
    expect(new CommandFault(cause, 'x is odd').message).toMatch(/^x is odd; \w+/)
  })

  test('and no other code is thrown', () => {
    const thrown = found(sources('runner'), /new CommandFault\(\s*'(\w+)'/g)
    expect(thrown.filter(code => !codes.includes(code as CommandFaultCode))).toEqual([])
  })
})

test('a host that cannot be judged says what to do', () => {
  const causes = [
    ...Object.keys(targetRemedies),
    ...found(sources('runner/network'), /cause: '(dns_\w+)'/g).filter(cause => cause !== 'dns_cancelled'),
    'proxy_variable',
  ]
  expect(causes).toEqual(expect.arrayContaining(['dns_not_found', 'dns_timeout', 'dns_failed']))
  for (const cause of causes) {
    const { steps } = decided(
      { ...writeEffect, effectClass: 'external_mutate' },
      { kind: 'network', network: { known: false, cause, detail: 'it is odd' } },
    )
    expect(steps.at(-1)?.rule).toBe(cause)
    expect(steps.at(-1)?.remedy).not.toMatch(generic)
  }
})

test('whatever is asked under whatever policy: a denial has rule, subject and remedy, and its reason repeats them', () => {
  const effects = fc.record({
    effectClass: fc.constantFrom(...effectClasses),
    risk: fc.constantFrom(...risks),
    isolation: fc.constantFrom(...isolations),
    agent: fc.constantFrom(null, 'a'),
    tool: fc.constantFrom('a', 'filesystem.write'),
    capabilities: fc.subarray(['x', 'y']),
    confirmedByParent: fc.constantFrom(null, 'f'.repeat(64)),
  })
  const policies = fc.record({
    toolsAllow: fc.constantFrom('any' as const, [], ['x', 'y']),
    toolsDeny: fc.subarray(['a', 'x']),
    writableRoots: fc.subarray(['out']),
    processAllowlist: fc.subarray(['git']),
    approval: fc.constantFrom('never' as const, 'always' as const),
    nonInteractive: fc.constantFrom('pause' as const, 'deny_approval' as const, 'fail' as const),
  })
  const facts = fc.constantFrom<Facts>(
    { kind: 'none' },
    writeFacts,
    readFacts,
    processFacts(),
    processFacts({ environment: { HOME: { source: 'X', sha256: null, fault: 'unset' as never } } }),
    { kind: 'process', process: { known: false, cause: '', detail: '' } },
  )
  fc.assert(
    fc.property(effects, policies, facts, (part, lists, fact) => {
      const policy = { ...policyDefaults, ...lists }
      const { outcome, reason, steps } = decide({
        effect: { ...processEffect, ...part },
        facts: fact,
        policy,
        origins,
        canPause: false,
      })
      if (outcome !== 'deny') return
      const { rule = '', subject = '', remedy = '' } = steps.at(-1) ?? {}
      for (const told of [rule, subject, remedy]) {
        expect(told).not.toBe('')
        expect(reason).toContain(told)
      }
      expect(reason).toMatch(/^\S+( \(\w+\))? refuses .+: .+; .+/)
    }),
    { numRuns: 2_000 },
  )
})

describe('a failure that the runner words itself', () => {
  /** Ends of somebody else's work, and texts that are put together where they are used: no rule of ours refuses there. */
  const told = new Map([
    ['assertion_failed', "the author's own message"],
    ['cancelled', 'somebody cancelled'],
    ['dependency', 'the task that failed says why'],
    ['internal_error', 'a fault of ours'],
    ['invalid_template', "the resolver's own words"],
    ['non_zero_exit', "the process's own end"],
    ['signalled', "the process's own end"],
    ['limit_exceeded', "the process's own end"],
    ['unknown_path', 'the decision denies before it could be met'],
    ['unknown_process', 'the decision denies before it could be met'],
    ['missing_field', 'part of what an extension is told to correct'],
    ['unknown_field', 'part of what an extension is told to correct'],
    ['untrusted_host_floor', 'its help stands beside it'],
    ['unknown', 'no code at all'],
    ['secret_helper_failed', 'what it was is not told'],
  ])
  const literal = `(?:'((?:[^'\\\\]|\\\\.)*)'|"((?:[^"\\\\]|\\\\.)*)"|\`((?:[^\`\\\\]|\\\\.)*)\`)`
  const pattern = new RegExp(
    `(?:new (?:ExecutorError|Error)\\(\\s*|\\b(?:failed|fail)\\(\\s*(?:'\\w+',\\s*)?|\\bcode: )'(\\w+)',\\s*(?:message: )?${literal}`,
    'g',
  )
  // The engines' room has its own walk beside its own tests.
  const texts = sources('runner').filter(([file]) => !file.startsWith('runner/container'))
  const worded = texts.flatMap(([file, text]) =>
    [...text.matchAll(pattern)].map(([, code = '', ...quoted]): [string, string, string] => [
      code,
      file,
      quoted.find(one => one !== undefined) ?? '',
    ]),
  )

  test('the walk meets them', () => {
    expect(worded.length).toBeGreaterThan(40)
  })

  test('each names a subject and says what to do', () => {
    const silent = worded.filter(([code, , message]) => !told.has(code) && !/; \w|: .+, which|refuses/.test(message))
    expect(silent).toEqual([])
  })
})
