import fc from 'fast-check'
import { type Floor, floorSchema, floorValue, meetFloors, parseFloor } from '../../policy/decision/index.ts'

const names = ['a', 'b', 'c']
const roots = ['.', 'out', 'out/a', 'out/b', 'src', '/', '/data', '/data/x']
const hosts = ['*.example.com', 'api.example.com', '*.api.example.com', 'x.api.example.com', 'example.com', '127.0.0.1']
const some = <Item>(items: readonly Item[]) => fc.subarray([...items])

const bounds = fc.record(
  {
    workspaceRoot: fc.constantFrom('.', 'sub', 'sub/a', 'other', '/x', null),
    writableRoots: some(roots),
    environmentAllowlist: some(names),
    processAllowlist: some(['git', 'sh', '/usr/bin/git']),
    secretFileRoots: some(roots),
    secretProcessAllowlist: some(names),
    networkAllowlist: some(hosts),
    network: fc.record(
      {
        allowedSchemes: some(['https', 'http'] as const),
        allowedPorts: some([80, 443, 8443]),
        allowPrivate: fc.boolean(),
        allowProxy: fc.boolean(),
        customCa: fc.constantFrom({ env: 'A' }, { env: 'B' }, null),
        connectTimeoutSeconds: fc.integer({ min: 1, max: 120 }),
        maxResponseBytes: fc.integer({ min: 1, max: 1000 }),
      },
      { requiredKeys: [] },
    ),
    providers: some(names),
    toolsAllow: some(names),
    toolsDeny: some(names),
    approval: fc.constantFrom('never', 'mutations', 'high_risk', 'mutations_or_high_risk', 'always'),
    nonInteractive: fc.constantFrom('pause', 'deny_approval', 'fail'),
  },
  { requiredKeys: [] },
)

const users = some([
  { login: 'Alice', id: null },
  { login: 'alice', id: 1 },
  { login: 'alice', id: 2 },
  { login: 'BOB', id: null },
  { login: 'carol', id: 3 },
])

const written = fc.record(
  {
    minimumIsolation: fc.constantFrom('process', 'container', 'cell'),
    policy: bounds,
    limits: fc.dictionary(fc.constantFrom('timeoutSeconds', 'maxTasks'), fc.integer({ min: 0, max: 9 })),
    images: some(names),
    searchPath: some(['/opt/a', '/opt/b']),
    protectedRepositories: some(['acme/a', 'acme/*', '*']),
    approvers: fc.record(
      {
        users,
        teams: some(['org/a', 'Org/B']),
        permission: fc.constantFrom('read', 'triage', 'write', 'maintain', 'admin'),
      },
      { requiredKeys: [] },
    ),
    minimumApprovals: fc.integer({ min: 1, max: 4 }),
    preventSelfApproval: fc.boolean(),
    expiresAfter: fc.constantFrom('7d', '12h', '30m', 3600),
    plainWords: fc.boolean(),
    notify: some(['@a', '@org/b']),
    onSuperseded: fc.constantFrom('warn', 'refuse'),
    allowedWorkflowRefs: some(names),
    workspaceNotCaptured: fc.constantFrom('warn', 'error'),
    requireHostFloor: fc.boolean(),
  },
  { requiredKeys: [] },
)

/** Floors in their normal form, small enough to collide often. */
export const floors: fc.Arbitrary<Floor> = written.map(value => {
  const floor = floorSchema.parse(value)
  return meetFloors(floor, floor)
})

/** The same, each stating who set its fields. */
export const sourcedFloors: fc.Arbitrary<Floor> = fc
  .tuple(floors, fc.constantFrom('host', 'organisation', 'repository'))
  .map(([floor, source]) => {
    const parsed = parseFloor(floorValue(floor), source)
    if (!parsed.ok) throw new Error(parsed.message)
    return parsed.floor
  })
