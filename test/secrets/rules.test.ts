import { describe, expect, test } from 'vitest'
import { effectLines } from '../../cli/approval-lines.ts'
import { sha256 } from '../../policy/canonical.ts'
import type { Facts, SecretFileFact, VariableFact } from '../../policy/decision/facts.ts'
import { effectivePolicy, floorSchema, type Policy } from '../../policy/decision/index.ts'
import { compile, parseDocument } from '../../policy/document/index.ts'
import * as jsonSchemas from '../../policy/json-schema/index.ts'
import { item, process as processEffectShown, rendered } from '../approval/pauses.ts'
import { documentOf } from '../cli/support.ts'
import { containerFacts, decided, processEffect, processFacts } from '../decision/questions.ts'

const allowed: Partial<Policy> = {
  processAllowlist: ['git'],
  environmentAllowlist: ['V'],
  secretFileRoots: ['secrets'],
  secretProcessAllowlist: ['ask', '/opt/exact'],
}
const file: SecretFileFact = { file: 'secrets/a', root: 'secrets', path: 'secrets/a', sha256: sha256('x') }
const known = (processFacts() as Extract<Facts, { kind: 'process' }>).process
const program = (change: object) => ({ ...known, command: 'ask', basename: 'ask', realPath: '/usr/bin/ask', ...change })
const helper = (change: object = {}) => ({ helper: 'ask', program: program(change) }) as VariableFact
const unknown = (cause: string) => ({ known: false, cause, detail: '"x" is odd' }) as const

function judged(fact: VariableFact, change: Partial<Policy> = {}, effect = processEffect) {
  const factsOf = effect.isolation === 'container' ? containerFacts : processFacts
  const decision = decided(effect, factsOf({ environment: { V: fact } }), { ...allowed, ...change })
  const last = decision.steps.at(-1)
  return {
    outcome: decision.outcome,
    rule: last?.rule,
    subject: last?.subject,
    remedy: last?.remedy,
    reason: decision.reason,
  }
}

describe('the decision about a secret file', () => {
  test('allowed with a root and a digest', () => {
    expect(judged(file).outcome).toBe('allow')
  })

  test.each<[string, SecretFileFact, Partial<Policy>, string]>([
    ['no root', { ...file, root: null }, {}, 'secretFileRoots'],
    ['a root that the policy does not have', { ...file, root: 'other' }, {}, 'secretFileRoots'],
    ['no roots at all', file, { secretFileRoots: [] }, 'secretFileRoots'],
    ['no digest and no reason', { ...file, sha256: null }, {}, 'missing_facts'],
    ['a fault with a digest', { ...file, fault: unknown('not_regular') }, {}, 'not_regular'],
    ['a fault without a name', { ...file, fault: unknown('') }, {}, 'missing_facts'],
    ['a fault outside the roots', { ...file, root: null, fault: unknown('not_found') }, {}, 'secretFileRoots'],
    [
      'a parent component outside the roots',
      { ...file, root: null, fault: unknown('parent_traversal') },
      {},
      'parent_traversal',
    ],
    ['a name that is not listed', file, { environmentAllowlist: [] }, 'environmentAllowlist'],
  ])('denied: %s', (_, fact, change, rule) => {
    const refusal = judged(fact, change)
    expect(refusal).toMatchObject({ outcome: 'deny', rule, subject: 'V' })
    expect(refusal.remedy).not.toBe('')
    expect(refusal.reason).toContain(rule)
  })

  test.each([
    'parent_traversal',
    'nul_byte',
    'empty_path',
    'not_found',
    'dangling_symlink',
    'symlink_loop',
    'not_directory',
    'is_directory',
    'not_regular',
    'not_permitted',
    'secret_too_large',
    'secret_not_utf8',
    'secret_holds_nul',
    'empty_secret',
    'secret_refused',
    'file_changed',
    'EIO',
  ])('%s names itself, the subject and a remedy of its own', cause => {
    const refusal = judged({ ...file, sha256: null, fault: unknown(cause) })
    expect(refusal).toMatchObject({ outcome: 'deny', rule: cause, subject: 'V' })
    const common = 'make it readable to agentctl, or give the secret in another way'
    expect(refusal.remedy === common).toBe(cause === 'EIO')
  })
})

describe('the decision about a secret helper', () => {
  test.each<[string, VariableFact, Partial<Policy>]>([
    ['by its name', helper(), {}],
    [
      'by its exact file, wherever it lies',
      helper({
        realPath: '/opt/exact',
        basename: 'other',
        passed: [{ path: '/opt/exact', untrusted: 'writable_root' }],
      }),
      {},
    ],
  ])('allowed %s', (_, fact, change) => {
    expect(judged(fact, change).outcome).toBe('allow')
  })

  test.each<[string, VariableFact, Partial<Policy>, string]>([
    ['on no list', helper(), { secretProcessAllowlist: [] }, 'secretProcessAllowlist'],
    [
      'on the list of other programs',
      helper(),
      { secretProcessAllowlist: [], processAllowlist: ['git', 'ask'] },
      'secretProcessAllowlist',
    ],
    ['by another name', helper({ basename: 'ask ' }), {}, 'secretProcessAllowlist'],
    [
      'below a writable root',
      helper({ passed: [{ path: '/w/ask', untrusted: 'writable_root' }] }),
      {},
      'untrusted_program',
    ],
    [
      'where others may write',
      helper({ passed: [{ path: '/w/ask', untrusted: 'others_writable' }] }),
      {},
      'untrusted_program',
    ],
    ['with no known places', helper({ passed: [] }), {}, 'missing_facts'],
    [
      'run by something untrusted',
      helper({
        interpreters: [{ path: '/tmp/sh', sha256: 'a', passed: [{ path: '/tmp/sh', untrusted: 'temporary' }] }],
      }),
      {},
      'untrusted_program',
    ],
    ['not known', { helper: 'ask', program: unknown('command_not_found') }, {}, 'command_not_found'],
    [
      'not known and not listed',
      { helper: 'x/other', program: unknown('command_not_found') },
      { secretProcessAllowlist: ['ask'] },
      'secretProcessAllowlist',
    ],
  ])('denied: %s', (_, fact, change, rule) => {
    const refusal = judged(fact, change)
    expect(refusal).toMatchObject({ outcome: 'deny', rule, subject: 'V' })
    expect(refusal.remedy).not.toBe('')
  })

  test('its place counts in a container and a cell too, since it runs on the host', () => {
    const fact = helper({ passed: [{ path: '/w/ask', untrusted: 'writable_root' }] })
    for (const isolation of ['container', 'cell'] as const)
      expect(judged(fact, {}, { ...processEffect, isolation })).toMatchObject({ rule: 'untrusted_program' })
  })

  test('a remedy names the list of helpers', () => {
    expect(judged(helper(), { secretProcessAllowlist: [] }).remedy).toBe(
      'add `ask` in spec.policy.secretProcessAllowlist, if that is meant',
    )
  })
})

describe('the floor bounds both lists', () => {
  const floor = floorSchema.parse({
    policy: { secretFileRoots: ['secrets', '/run/secrets'], secretProcessAllowlist: ['ask'] },
  })

  test.each([
    ['secretFileRoots', ['secrets/team'], ['secrets/team'], 0],
    ['secretFileRoots', ['secrets', 'other'], ['secrets'], 1],
    ['secretFileRoots', ['/run'], ['/run/secrets'], 1],
    ['secretProcessAllowlist', ['ask', 'sh'], ['ask'], 1],
    ['secretProcessAllowlist', ['/opt/ask'], [], 1],
  ] as const)('%s %j becomes %j', (field, asked, met, violations) => {
    const result = effectivePolicy({ [field]: [...asked] }, floor)
    expect(result.policy[field].value).toEqual([...met])
    expect(result.violations.map(violation => violation.field)).toEqual(violations === 0 ? [] : [field])
  })
})

describe('the document', () => {
  function diagnosed(reference: unknown, policy: object = {}): string[] {
    const text = documentOf({
      policy: { secretFileRoots: ['secrets'], secretProcessAllowlist: ['ask'], ...policy },
      actions: { run: { kind: 'builtin.shell.exec', command: '/bin/true', env: { V: reference } } },
      tasks: [{ id: 'a', uses: 'action:run' }],
    })
    const { document, diagnostics } = parseDocument({ text, file: 'f.yaml' })
    if (document === null) return diagnostics.map(({ code, path }) => `${code} ${path}`)
    const compiled = compile({ document, inputs: {}, files: {}, floor: null, jsonSchemas })
    return compiled.diagnostics.map(({ code, path, line }) => {
      expect(line).toBeGreaterThan(1)
      return `${code} ${path}`
    })
  }
  const at = 'invalid_secret_reference spec.actions.run.env.V'

  test.each([
    ['a file', { file: 'secrets/a' }, []],
    ['a helper', { process: { command: 'ask' } }, []],
    ['a helper at its limits', { process: { command: 'ask', timeoutSeconds: 60, outputLimitBytes: 65_536 } }, []],
    ['the least of both', { process: { command: 'ask', timeoutSeconds: 1, outputLimitBytes: 1 } }, []],
    ['60 s and one', { process: { command: 'ask', timeoutSeconds: 61 } }, [`${at}.process.timeoutSeconds`]],
    ['no time', { process: { command: 'ask', timeoutSeconds: 0 } }, [`${at}.process.timeoutSeconds`]],
    ['64 KiB and one', { process: { command: 'ask', outputLimitBytes: 65_537 } }, [`${at}.process.outputLimitBytes`]],
    [
      'an unknown field',
      { process: { command: 'ask', cwd: '.' } },
      ['schema_violation spec.actions.run.env.V.process.cwd'],
    ],
    ['a NUL byte in the command', { process: { command: 'a\0/ask' } }, [`${at}.process.command`]],
    ['a NUL byte in an argument', { process: { command: 'ask', args: ['a', 'b\0'] } }, [`${at}.process.args[1]`]],
    ['no command', { process: { command: '' } }, [`${at}.process.command`]],
    ['another helper', { process: { command: 'sh' } }, [`${at}.process`]],
    ['two sources', { file: 'secrets/a', env: 'A' }, [at]],
    ['a parent component', { file: 'secrets/../a' }, [`${at}.file`]],
  ])('%s', (_, reference, expected) => {
    expect(diagnosed(reference)).toEqual(expected)
  })

  test('only the host can tell which file an entry with a slash allows', () => {
    expect(diagnosed({ process: { command: 'tools/sh' } }, { secretProcessAllowlist: ['/opt/sh'] })).toEqual([])
  })

  test('customCa is checked too', () => {
    expect(diagnosed({ file: 'secrets/a' }, { network: { customCa: { process: { command: 'sh' } } } })).toEqual([
      'invalid_secret_reference spec.policy.network.customCa.process',
    ])
  })
})

describe('an approval shows the helpers', () => {
  const shown = {
    ...processEffectShown,
    secretHelpers: [
      {
        variable: 'V',
        command: 'ask',
        args: ['a `b`', '--field'],
        realPath: '/usr/bin/ask',
        executableSha256: sha256('ask'),
      },
    ],
  }

  test('in the issue', () => {
    const { body } = rendered([item(1, { expectedEffect: shown })])
    expect(body).toContain('Runs first, for the value of `V`')
    expect(body).toContain(sha256('ask'))
    expect(body).toContain('--field')
  })

  test('at the terminal', () => {
    const text = effectLines(shown).join('\n')
    expect(text).toContain('first, for V, runs "ask" "a `b`" "--field"')
    expect(text).toContain(`/usr/bin/ask, SHA-256 ${sha256('ask')}`)
  })
})
