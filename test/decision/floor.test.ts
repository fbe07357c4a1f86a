import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  approvalSettings,
  decide,
  type EffectQuestion,
  effectivePolicy,
  type Facts,
  type Floor,
  floorDigest,
  floorValue,
  meetAll,
  meetFloors,
  parseFloor,
  policyOrigins,
  policySchema,
  policyValues,
  type WrittenPolicy,
} from '../../policy/decision/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import { floors, sourcedFloors } from './arbitraries.ts'
import { processEffect, processFacts, writeEffect, writeFacts } from './questions.ts'

const runs = { numRuns: 400 }

describe('meet', () => {
  it('is commutative, associative and idempotent', () => {
    fc.assert(
      fc.property(floors, floors, floors, (a, b, c) => {
        expect(meetFloors(a, b)).toEqual(meetFloors(b, a))
        expect(meetFloors(meetFloors(a, b), c)).toEqual(meetFloors(a, meetFloors(b, c)))
        expect(meetFloors(a, a)).toEqual(a)
        expect(floorDigest(meetFloors(a, b))).toBe(floorDigest(meetFloors(b, a)))
      }),
      runs,
    )
  })

  it('names who set a field in any order of the floors, and of a stricter and a looser word the stricter one only', () => {
    fc.assert(
      fc.property(sourcedFloors, sourcedFloors, sourcedFloors, (a, b, c) => {
        expect(meetFloors(a, b)).toEqual(meetFloors(b, a))
        expect(meetFloors(meetFloors(a, b), c)).toEqual(meetFloors(a, meetFloors(b, c)))
        expect(meetFloors(meetFloors(a, b), a)).toEqual(meetFloors(a, b))
      }),
      runs,
    )
    const parsed = (spec: JsonObject, source: string): Floor => {
      const result = parseFloor(spec, source)
      if (!result.ok) throw new Error(result.message)
      return result.floor
    }
    const loose = parsed({ minimumIsolation: 'process', minimumApprovals: 1, limits: { maxTasks: 9 } }, 'repository')
    const strict = parsed({ minimumIsolation: 'cell', minimumApprovals: 1, limits: { maxTasks: 8 } }, 'organisation')
    expect(meetFloors(loose, strict).setBy).toMatchObject({
      minimumIsolation: ['organisation'],
      minimumApprovals: ['organisation', 'repository'],
      'limits.maxTasks': ['organisation'],
    })
  })

  it('absorbs what it already holds', () => {
    fc.assert(
      fc.property(floors, floors, (a, b) => {
        const met = meetFloors(a, b)
        expect(meetFloors(met, a)).toEqual(met)
      }),
      runs,
    )
  })

  const effects: [EffectQuestion, Facts][] = [
    [writeEffect, writeFacts],
    [{ ...writeEffect, tool: 'a', capabilities: ['b'] }, writeFacts],
    [processEffect, processFacts()],
    [processEffect, processFacts({ environment: { a: { source: 'b', sha256: 'd' } } })],
  ]
  const documents: fc.Arbitrary<WrittenPolicy> = fc.record(
    {
      writableRoots: fc.subarray(['out', '.', 'out/a']),
      processAllowlist: fc.subarray(['git', '/usr/bin/git']),
      environmentAllowlist: fc.subarray(['a', 'b']),
      toolsAllow: fc.subarray(['a', 'b', 'filesystem.write']),
      toolsDeny: fc.subarray(['b']),
      approval: fc.constantFrom('never' as const, 'mutations' as const, 'high_risk' as const, 'always' as const),
    },
    { requiredKeys: [] },
  )
  const rank = { deny: 0, ask: 1, allow: 2 }

  it('never grants what either side refuses', () => {
    const outcome = (document: WrittenPolicy, floor: Floor | null, [effect, facts]: [EffectQuestion, Facts]) => {
      const { policy } = effectivePolicy(document, floor)
      // The fact's root is looked up by the runner in the policy that it is given.
      const root =
        policyValues(policy).writableRoots.find(one => one === '.' || 'out/a.txt'.startsWith(`${one}/`)) ?? null
      const found =
        facts.kind === 'write' && facts.path.known ? { kind: 'write' as const, path: { ...facts.path, root } } : facts
      return rank[
        decide({ effect, facts: found, policy: policyValues(policy), origins: policyOrigins(policy), canPause: true })
          .outcome
      ]
    }
    fc.assert(
      fc.property(documents, floors, floors, fc.constantFrom(...effects), (document, a, b, effect) => {
        const met = outcome(document, meetFloors(a, b), effect)
        expect(met).toBeLessThanOrEqual(outcome(document, a, effect))
        expect(met).toBeLessThanOrEqual(outcome(document, b, effect))
        expect(outcome(document, a, effect)).toBeLessThanOrEqual(outcome(document, null, effect))
      }),
      { numRuns: 1500 },
    )
  })

  it('never lets more people approve, sooner, for longer, or with fewer voices', () => {
    fc.assert(
      fc.property(floors, floors, (a, b) => {
        const met = approvalSettings(meetFloors(a, b), {})
        const one = approvalSettings(a, {})
        if (!met.ok || !one.ok) return
        expect(met.settings.minimumApprovals).toBeGreaterThanOrEqual(one.settings.minimumApprovals)
        expect(met.settings.expiresAfterSeconds).toBeLessThanOrEqual(one.settings.expiresAfterSeconds)
        if (one.settings.preventSelfApproval) expect(met.settings.preventSelfApproval).toBe(true)
        if (!one.settings.plainWords) expect(met.settings.plainWords).toBe(false)
        if (one.settings.users === null) return
        const allowed = one.settings.users
        for (const user of met.settings.users ?? []) {
          expect(allowed.some(other => other.login === user.login && (other.id === null || other.id === user.id))).toBe(
            true,
          )
        }
      }),
      runs,
    )
  })

  it('names every floor that set a field', () => {
    const read = (source: string, spec: object) => {
      const result = parseFloor(
        { apiVersion: 'agentctl.dev/v1', kind: 'SecurityFloor', metadata: { name: source }, spec } as never,
        source,
      )
      if (!result.ok) throw new Error(result.message)
      return result.floor
    }
    const met = meetAll([
      read('organisation', { policy: { processAllowlist: ['git'] } }),
      null,
      read('repository', { policy: { processAllowlist: ['git', 'sh'] } }),
    ])
    const { violations, policy } = effectivePolicy({ processAllowlist: ['sh'] }, met)
    expect(violations).toMatchObject([{ field: 'processAllowlist', floor: 'organisation and repository' }])
    expect(violations[0]?.message).toMatch(/processAllowlist.*`sh`.*organisation and repository/)
    expect(policy.processAllowlist).toEqual({ value: [], origin: 'floor' })
  })

  it('has no floor where none is installed', () => {
    expect(meetAll([null, null])).toBeNull()
  })
})

describe('any is kept apart from nothing', () => {
  it.each(['providers', 'toolsAllow'] as const)('%s', field => {
    const disjoint = meetFloors(floor({ policy: { [field]: ['a'] } }), floor({ policy: { [field]: ['b'] } }))
    expect(disjoint.policy?.[field]).toEqual([])
    expect(effectivePolicy({}, disjoint).policy[field]).toEqual({ value: [], origin: 'floor' })
    expect(effectivePolicy({ [field]: [] }, null).policy[field]).toEqual({ value: 'any', origin: 'document' })
    expect(effectivePolicy({}, null).policy[field]).toEqual({ value: 'any', origin: 'default' })
    const through = parseFloor(floorValue(disjoint))
    expect(through).toMatchObject({ ok: true, floor: { policy: { [field]: [] } } })
  })
})

describe('a floor file', () => {
  const text = (spec: string) =>
    `apiVersion: agentctl.dev/v1\nkind: SecurityFloor\nmetadata: {name: house}\nspec:\n${spec}`

  it('is read with every field and keeps its meaning over the wire', () => {
    const all = text(
      [
        '  minimumIsolation: container',
        '  policy: {approval: mutations, processAllowlist: [git], network: {allowPrivate: false}}',
        '  limits: {timeoutSeconds: 300}',
        '  images: ["a@sha256:1"]',
        '  searchPath: [/opt/hostedtoolcache]',
        '  protectedRepositories: ["org/prod-*"]',
        '  approvers: {users: [Alice, {login: bob, id: 7}], teams: [Org/Release], permission: maintain}',
        '  minimumApprovals: 2',
        '  preventSelfApproval: true',
        '  expiresAfter: 2d',
        '  plainWords: false',
        '  notify: ["@alice"]',
        '  onSuperseded: refuse',
        '  allowedWorkflowRefs: ["org/r/.github/workflows/w.yml@refs/heads/main"]',
        '  workspaceNotCaptured: error',
        '  requireHostFloor: true',
      ].join('\n'),
    )
    const result = parseFloor(all, 'host')
    if (!result.ok) throw new Error(result.message)
    expect(result.floor).toMatchObject({
      approvers: {
        users: [
          { login: 'alice', id: null },
          { login: 'bob', id: 7 },
        ],
        teams: ['org/release'],
        permission: 'maintain',
      },
      expiresAfter: 172_800,
      setBy: { 'policy.processAllowlist': ['host'], 'limits.timeoutSeconds': ['host'] },
    })
    expect(parseFloor(floorValue(result.floor))).toEqual(result)
  })

  it.each([
    ['another kind', 'apiVersion: agentctl.dev/v1\nkind: Workflow\nmetadata: {name: x}\nspec: {}', 'kind'],
    ['an unknown field', text('  aprovers: {}'), 'aprovers'],
    ['its own provenance', text('  setBy: {}'), 'setBy'],
    ['a duplicate key', text('  minimumApprovals: 1\n  minimumApprovals: 2'), 'duplicate key'],
    ['zero approvals', text('  minimumApprovals: 0'), 'minimumApprovals'],
    ['a bad duration', text('  expiresAfter: 7 days'), '7d'],
    ['a too long duration', text('  expiresAfter: 30d'), '29 days'],
    ['a team without organisation', text('  approvers: {teams: [release]}'), 'org/slug'],
    ['a home directory', text('  policy: {writableRoots: ["~/x"]}'), 'not expanded'],
    ['a parent directory', text('  policy: {writableRoots: [a/../b]}'), '..'],
    ['a URL as host', text('  policy: {networkAllowlist: ["https://example.com/"]}'), 'host alone'],
    ['no YAML', 'a: [', 'YAML'],
    ['two documents', `${text('  {}')}\n---\n${text('  {}')}`, 'YAML'],
    ['nothing', '', 'floor'],
    ['a list', '[]', 'floor'],
    [
      'a bomb',
      `a: &a [x,x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 9 }, (_, n) => {
        const before = String.fromCharCode(97 + n)
        const own = String.fromCharCode(98 + n)
        return `${own}: &${own} [${`*${before},`.repeat(10)}]`
      }).join('\n')}`,
      'YAML',
    ],
  ])('is refused when it is %s', (_, bad, named) => {
    const result = parseFloor(bad)
    expect(result).toMatchObject({ ok: false, message: expect.stringContaining(named) })
  })

  it('says what a floor alone means', () => {
    expect(approvalSettings(null, {})).toMatchObject({
      ok: true,
      settings: { permission: 'write', minimumApprovals: 1, preventSelfApproval: false, plainWords: true },
    })
    expect(approvalSettings(floor({}), {})).toMatchObject({
      ok: true,
      settings: { permission: 'write', minimumApprovals: 1, preventSelfApproval: true, plainWords: true },
    })
  })
})

function floor(spec: object): Floor {
  const result = parseFloor(spec as never)
  if (!result.ok) throw new Error(result.message)
  return result.floor
}

it('accepts the written policy of a document and nothing else', () => {
  expect(policySchema.safeParse({ writableRoots: ['out'], network: { allowPrivate: true } }).success).toBe(true)
  for (const bad of [
    { wat: 1 },
    { network: { wat: 1 } },
    { approval: 'sometimes' },
    { writableRoots: ['../x'] },
    { writableRoots: ['a\0b'] },
    { network: { connectTimeoutSeconds: 121 } },
    { network: { maxResponseBytes: 67_108_865 } },
    { processAllowlist: ['./git'] },
    { environmentAllowlist: ['A=1'] },
    { approval: 'mutations_or_high_risk' },
  ]) {
    expect(policySchema.safeParse(bad).success, JSON.stringify(bad)).toBe(false)
  }
})

describe('a floor that is made to cost', () => {
  const seconds = (text: string): number => {
    const before = process.cpuUsage()
    expect(parseFloor(text).ok).toBe(false)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1e6
  }
  const keys = (count: number) => Array.from({ length: count }, (_, number) => `k${number}: 1`).join('\n')

  it('is read in time that grows with its text, not with its square', () => {
    const least = (count: number) => Math.min(...[1, 2, 3].map(() => seconds(keys(count))))
    least(1_000)
    expect(least(24_000)).toBeLessThan(12 * least(4_000) + 0.05)
  })

  it.each<[string, string]>([
    ['unknown keys', keys(20_000)],
    ['a key of its own length', `${'k'.repeat(200_000)}: 1`],
    ['brackets', '['.repeat(200_000)],
    [
      'aliases of aliases',
      `a: &a [x]\n${Array.from({ length: 40 }, (_, n) => `b${n}: &b${n} [${n === 0 ? '*a' : `*b${n - 1}, *b${n - 1}`}]`).join('\n')}`,
    ],
    ['more bytes than characters', `#${'ä'.repeat(140_000)}`],
  ])('%s: refused, in a message that can be shown', (_, text) => {
    const parsed = parseFloor(text)
    expect(parsed.ok).toBe(false)
    if (!parsed.ok) expect(parsed.message.length).toBeLessThan(4_000)
  })
})
