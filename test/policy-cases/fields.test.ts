import { describe, expect, test } from 'vitest'
import { floorSchema, parseFloor, policyDefaults, policySchema, withDefaults } from '../../policy/decision/index.ts'
import type { Json, JsonObject } from '../../policy/json.ts'

/** Each field with values that it takes and values that it refuses; a field without a row here fails. */
interface Row {
  takes: Json[]
  refuses: Json[]
}

const roots: Row = {
  takes: [['.'], ['out', '/data/x'], ['ä b'], []],
  refuses: ['out', [''], ['~'], ['~/x'], ['../x'], ['a/../b'], ['a\0b'], [1], null, [null]],
}
const programs: Row = {
  takes: [['git'], ['/usr/bin/git'], ['git '], []],
  refuses: ['git', [''], ['./git'], ['bin/git'], ['~/git'], ['/usr/../bin/git'], ['a\0'], [1], null],
}
const names: Row = { takes: [['a'], ['a', 'b'], []], refuses: ['a', [''], ['a\0'], [1], null, {}] }
const network = (row: { [field: string]: Row }): Row => ({
  takes: [{}, ...Object.entries(row).flatMap(([field, { takes }]) => takes.map(value => ({ [field]: value })))],
  refuses: [
    [],
    null,
    { unknown: 1 },
    ...Object.entries(row).flatMap(([field, { refuses }]) => refuses.map(value => ({ [field]: value }))),
  ],
})
const helper = (more: JsonObject) => ({ process: { command: 'pass', ...more } })

const policyRows: { [Field in keyof typeof policySchema.shape]: Row } = {
  workspaceRoot: { takes: ['.', 'sub', '/abs'], refuses: ['', '~', '..', 'a/..', 'a\0', 1, null, ['.']] },
  writableRoots: roots,
  secretFileRoots: roots,
  environmentAllowlist: { takes: [['A'], []], refuses: [['A=B'], [''], ['A\0'], 'A', [1], null] },
  processAllowlist: programs,
  secretProcessAllowlist: programs,
  networkAllowlist: {
    takes: [['example.com'], ['*.example.com'], ['127.0.0.1'], ['[::1]'], ['::1'], []],
    refuses: [['*'], ['https://x'], ['x:443'], ['a*.b'], ['%2A.x'], [''], ['*.127.0.0.1'], 'x', [1], null],
  },
  network: network({
    allowedSchemes: { takes: [['https'], ['https', 'http'], []], refuses: [['ftp'], 'https', [1]] },
    allowedPorts: { takes: [[1], [65_535], []], refuses: [[0], [65_536], [443.5], ['443'], 443] },
    allowPrivate: { takes: [true, false], refuses: ['true', 1, null] },
    allowProxy: { takes: [true, false], refuses: ['true', 1, null] },
    customCa: {
      takes: [
        { env: 'CA' },
        { file: 'ca.pem' },
        helper({}),
        helper({ timeoutSeconds: 1 }),
        helper({ timeoutSeconds: 60 }),
        helper({ outputLimitBytes: 1 }),
        helper({ outputLimitBytes: 65_536 }),
      ],
      refuses: [
        'CA',
        {},
        { env: 'CA', file: 'x' },
        { env: '' },
        { file: '../x' },
        helper({ timeoutSeconds: 0 }),
        helper({ timeoutSeconds: 61 }),
        helper({ timeoutSeconds: 1.5 }),
        helper({ outputLimitBytes: 0 }),
        helper({ outputLimitBytes: 65_537 }),
        helper({ shell: true }),
        { process: { command: '' } },
      ],
    },
    connectTimeoutSeconds: { takes: [1, 120], refuses: [0, 121, 1.5, '10', null] },
    maxResponseBytes: { takes: [1, 67_108_864], refuses: [0, 67_108_865, 1.5, '1', null] },
  }),
  providers: names,
  toolsAllow: names,
  toolsDeny: names,
  approval: {
    takes: ['never', 'mutations', 'high_risk', 'always'],
    refuses: ['mutations_or_high_risk', 'Never', '', null, true],
  },
  nonInteractive: { takes: ['pause', 'deny_approval', 'fail'], refuses: ['allow', 'Pause', '', null] },
}

const rowsOf = (rows: { [field: string]: Row }, which: keyof Row) =>
  Object.entries(rows).flatMap(([field, row]) => row[which].map((value): [string, Json] => [field, value]))

describe('spec.policy', () => {
  test.each(rowsOf(policyRows, 'takes'))('%s takes %j', (field, value) => {
    expect(policySchema.safeParse({ [field]: value }).error?.issues).toBeUndefined()
  })
  test.each(rowsOf(policyRows, 'refuses'))('%s refuses %j, and says at which field', (field, value) => {
    const { error } = policySchema.safeParse({ [field]: value })
    expect(error?.issues[0]?.path[0]).toBe(field)
    expect(error?.issues[0]?.message).toMatch(/\w{3}/)
  })
  test('has no field without a row, and takes no other', () => {
    expect(Object.keys(policyRows).sort()).toEqual(Object.keys(policySchema.shape).sort())
    expect(Object.keys(policyRows).sort()).toEqual(Object.keys(policyDefaults).sort())
    expect(policySchema.safeParse({ processAllowList: [] }).success).toBe(false)
  })
  test('has these defaults of its network, and of what a helper may do', () => {
    expect(withDefaults(policySchema.parse({ network: { allowedPorts: [] } })).network).toEqual({
      allowedSchemes: ['https', 'http'],
      allowedPorts: 'any',
      allowPrivate: false,
      allowProxy: false,
      customCa: null,
      connectTimeoutSeconds: 10,
      maxResponseBytes: 8 * 1_048_576,
    })
    const given = policySchema.parse({ network: { customCa: helper({}) } }).network?.customCa
    expect(given).toEqual(helper({ args: [], timeoutSeconds: 5, outputLimitBytes: 16 * 1024 }))
  })
})

const floorRows: { [field: string]: Row } = {
  minimumIsolation: { takes: ['process', 'container', 'cell'], refuses: ['vm', '', null] },
  policy: {
    takes: [
      {},
      { workspaceRoot: null },
      { approval: 'mutations_or_high_risk' },
      { providers: [] },
      { network: { customCa: null } },
    ],
    refuses: [[], null, { unknown: 1 }, { writableRoots: ['~'] }, { network: { maxResponseBytes: 67_108_865 } }],
  },
  limits: {
    takes: [{}, { timeoutSeconds: 0 }, { maxCostUsd: 0.5 }],
    refuses: [{ timeoutSeconds: -1 }, { timeout: 1 }, { timeoutSeconds: '1' }, [], null],
  },
  images: { takes: [['x'], []], refuses: [[''], 'x', [1], null] },
  searchPath: { takes: [['/opt/x'], []], refuses: [['opt'], ['~/x'], '/opt', null] },
  protectedRepositories: {
    takes: [['acme/app'], ['acme/*'], ['*'], []],
    refuses: [['acme'], [''], ['a/b/c'], ['a/{b,c}'], 'a/b', null],
  },
  approvers: {
    takes: [
      {},
      { users: ['alice', { login: 'bob', id: 7 }, { login: 'carol' }] },
      { teams: ['org/slug'] },
      { permission: 'admin' },
    ],
    refuses: [
      { users: [''] },
      { users: [{ id: 7 }] },
      { users: [{ login: 'x', id: 0 }] },
      { teams: ['slug'] },
      { teams: ['org/'] },
      { permission: 'owner' },
      { groups: [] },
      [],
      null,
    ],
  },
  minimumApprovals: { takes: [1, 100], refuses: [0, 101, 1.5, '1', null] },
  preventSelfApproval: { takes: [true, false], refuses: ['true', null] },
  expiresAfter: {
    takes: ['1m', '29d', '12h', 60, 29 * 86_400],
    refuses: ['59s', '30d', '0d', 59, 29 * 86_400 + 1, '7', 'd', '-1d', '1.5h', null],
  },
  plainWords: { takes: [true, false], refuses: ['no', null] },
  notify: { takes: [['@alice', '@org/team'], []], refuses: [['alice'], '@alice', null] },
  onSuperseded: { takes: ['warn', 'refuse'], refuses: ['error', null] },
  allowedWorkflowRefs: {
    takes: [['o/r/.github/workflows/x.yml@refs/heads/main'], ['*'], []],
    refuses: [[''], 'x', null],
  },
  workspaceNotCaptured: { takes: ['warn', 'error'], refuses: ['refuse', null] },
  requireHostFloor: { takes: [true, false], refuses: ['true', null] },
}

describe('spec of a SecurityFloor', () => {
  const envelope = (spec: JsonObject) =>
    JSON.stringify({ apiVersion: 'agentctl.dev/v1', kind: 'SecurityFloor', metadata: { name: 'f' }, spec })
  test.each(rowsOf(floorRows, 'takes'))('%s takes %j', (field, value) => {
    const parsed = parseFloor(envelope({ [field]: value }))
    expect(parsed.ok ? '' : parsed.message).toBe('')
  })
  test.each(rowsOf(floorRows, 'refuses'))('%s refuses %j, and says at which field', (field, value) => {
    const parsed = parseFloor(envelope({ [field]: value }))
    expect(parsed).toMatchObject({ ok: false, message: expect.stringContaining(`spec.${field}`) })
  })
  test('has no field without a row', () => {
    const fields = Object.keys(floorSchema.unwrap().shape).filter(field => field !== 'setBy')
    expect(Object.keys(floorRows).sort()).toEqual(fields.sort())
  })
})
