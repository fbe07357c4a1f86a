import { describe, expect, it } from 'vitest'
import {
  effectivePolicy,
  parseFloor,
  policyDefaults,
  policyOrigins,
  policyValues,
  underHostFloor,
  type WrittenPolicy,
} from '../../policy/decision/index.ts'

function floor(policy: object, source = 'repository') {
  const result = parseFloor(
    { apiVersion: 'agentctl.dev/v1', kind: 'SecurityFloor', metadata: { name: 'f' }, spec: { policy } } as never,
    source,
  )
  if (!result.ok) throw new Error(result.message)
  return result.floor
}

it('is the defaults, with their origin, where nothing is written', () => {
  const { policy, violations } = effectivePolicy({}, null)
  expect(policyValues(policy)).toEqual(policyDefaults)
  expect(new Set(Object.values(policyOrigins(policy)))).toEqual(new Set(['default']))
  expect(violations).toEqual([])
})

type Row = [
  name: string,
  written: WrittenPolicy,
  bounds: object,
  field: string,
  value: unknown,
  origin: string,
  violated: string[],
]

const rows: Row[] = [
  [
    'within the bound',
    { processAllowlist: ['git'] },
    { processAllowlist: ['git', 'sh'] },
    'processAllowlist',
    ['git'],
    'document',
    [],
  ],
  [
    'beyond the bound',
    { processAllowlist: ['git', 'curl'] },
    { processAllowlist: ['git'] },
    'processAllowlist',
    ['git'],
    'floor',
    ['processAllowlist'],
  ],
  [
    'an exact file under a bound by name',
    { processAllowlist: ['/x/git'] },
    { processAllowlist: ['git'] },
    'processAllowlist',
    [],
    'floor',
    ['processAllowlist'],
  ],
  ['absent under a bound', {}, { processAllowlist: ['git'] }, 'processAllowlist', [], 'default', []],
  [
    'a root below the bound',
    { writableRoots: ['out/a'] },
    { writableRoots: ['out'] },
    'writableRoots',
    ['out/a'],
    'document',
    [],
  ],
  [
    'a root spelled otherwise',
    { writableRoots: ['./out/'] },
    { writableRoots: ['out'] },
    'writableRoots',
    ['./out/'],
    'document',
    [],
  ],
  [
    'a root above the bound',
    { writableRoots: ['.'] },
    { writableRoots: ['out'] },
    'writableRoots',
    ['out'],
    'floor',
    ['writableRoots'],
  ],
  [
    'a root that only looks alike',
    { writableRoots: ['outer'] },
    { writableRoots: ['out'] },
    'writableRoots',
    [],
    'floor',
    ['writableRoots'],
  ],
  [
    'an absolute root under a relative bound',
    { writableRoots: ['/w/out'] },
    { writableRoots: ['.'] },
    'writableRoots',
    [],
    'floor',
    ['writableRoots'],
  ],
  [
    'a host below a suffix',
    { networkAllowlist: ['API.example.com.'] },
    { networkAllowlist: ['*.example.com'] },
    'networkAllowlist',
    ['API.example.com.'],
    'document',
    [],
  ],
  [
    'an apex under a suffix',
    { networkAllowlist: ['example.com'] },
    { networkAllowlist: ['*.example.com'] },
    'networkAllowlist',
    [],
    'floor',
    ['networkAllowlist'],
  ],
  ['any tools under a list', {}, { toolsAllow: ['filesystem.write'] }, 'toolsAllow', ['filesystem.write'], 'floor', []],
  ['written any tools under a list', { toolsAllow: [] }, { toolsAllow: ['x'] }, 'toolsAllow', ['x'], 'floor', []],
  ['denials added', { toolsDeny: ['a'] }, { toolsDeny: ['b'] }, 'toolsDeny', ['a', 'b'], 'floor', []],
  ['denials there already', { toolsDeny: ['a', 'b'] }, { toolsDeny: ['b'] }, 'toolsDeny', ['a', 'b'], 'document', []],
  [
    'an approval united',
    { approval: 'high_risk' },
    { approval: 'mutations' },
    'approval',
    'mutations_or_high_risk',
    'floor',
    [],
  ],
  [
    'an approval that asks for nothing',
    { approval: 'never' },
    { approval: 'mutations' },
    'approval',
    'mutations',
    'floor',
    [],
  ],
  [
    'an approval that asks for more',
    { approval: 'always' },
    { approval: 'mutations' },
    'approval',
    'always',
    'document',
    [],
  ],
  [
    'a pause that is not allowed',
    { nonInteractive: 'pause' },
    { nonInteractive: 'fail' },
    'nonInteractive',
    'fail',
    'floor',
    ['nonInteractive'],
  ],
  ['a default pause that is not allowed', {}, { nonInteractive: 'fail' }, 'nonInteractive', 'fail', 'floor', []],
  [
    'a workspace below the bound',
    { workspaceRoot: 'app/x' },
    { workspaceRoot: 'app' },
    'workspaceRoot',
    'app/x',
    'document',
    [],
  ],
  [
    'a workspace above the bound',
    { workspaceRoot: '.' },
    { workspaceRoot: 'app' },
    'workspaceRoot',
    'app',
    'floor',
    ['workspaceRoot'],
  ],
  ['the default workspace above the bound', {}, { workspaceRoot: 'app' }, 'workspaceRoot', 'app', 'floor', []],
  [
    'no workspace that fits',
    { workspaceRoot: 'lib' },
    { workspaceRoot: 'app' },
    'workspaceRoot',
    'app',
    'floor',
    ['workspaceRoot'],
  ],
]

describe('floor meets document', () => {
  it.each(rows)('%s', (_, written, bounds, field, value, origin, violated) => {
    const { policy, violations } = effectivePolicy(written, floor(bounds))
    expect(policy[field as keyof typeof policy]).toEqual({ value, origin })
    expect(violations.map(one => one.field)).toEqual(violated)
    for (const one of violations) {
      expect(one.floor).toBe('repository')
      expect(one.message).toContain(`policy.${field}`)
      expect(one.message).toContain('repository')
    }
  })

  it('tightens each part of network and names the one that asks too much', () => {
    const bound = floor({
      network: {
        allowPrivate: false,
        allowedPorts: [443],
        allowedSchemes: ['https'],
        connectTimeoutSeconds: 5,
        maxResponseBytes: 100,
        allowProxy: false,
        customCa: { env: 'CA' },
      },
    })
    const { policy, violations } = effectivePolicy(
      {
        network: { allowPrivate: true, allowedPorts: [443, 80], customCa: { env: 'OTHER' }, connectTimeoutSeconds: 4 },
      },
      bound,
    )
    expect(policy.network).toEqual({
      value: {
        allowedSchemes: ['https'],
        allowedPorts: [443],
        allowPrivate: false,
        allowProxy: false,
        customCa: null,
        connectTimeoutSeconds: 4,
        maxResponseBytes: 100,
      },
      origin: 'floor',
    })
    expect(violations.map(one => one.field).sort()).toEqual([
      'network.allowPrivate',
      'network.allowedPorts',
      'network.customCa',
    ])
  })
})

describe('the host floor over a stored plan', () => {
  it('tightens what nobody wrote and refuses what the document wrote', () => {
    const plan = effectivePolicy(
      { processAllowlist: ['git', 'sh'] },
      floor({ toolsAllow: ['process.exec', 'filesystem.write'] }),
    ).policy
    const { policy, violations } = underHostFloor(
      plan,
      floor({ processAllowlist: ['git'], toolsAllow: ['process.exec'] }, 'host'),
    )
    expect(policy.toolsAllow).toEqual({ value: ['process.exec'], origin: 'floor' })
    expect(policy.processAllowlist).toEqual({ value: ['git'], origin: 'floor' })
    expect(violations).toMatchObject([{ field: 'processAllowlist', floor: 'host' }])
    expect(underHostFloor(plan, null)).toEqual({ policy: plan, violations: [] })
  })
})
