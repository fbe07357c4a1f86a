import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { effectivePolicy, type Floor, meetFloors, type Policy, policyValues } from '../../policy/decision/index.ts'
import { isolations } from '../../policy/effect.ts'
import { floors } from './arbitraries.ts'

/**
 * Questions that a floor answers, field by field, in words of their own: a met floor says yes exactly where both do, or
 * for lists of patterns at most there. An oracle: nothing of the meet is used to say what a floor allows.
 */
interface Question {
  name: string
  allowed(floor: Floor): boolean
  /** The meet may be stricter than both: lists of patterns meet by their text. */
  mayBeStricter?: true
}

const under = (root: string, place: string): boolean =>
  root === '.' ? !place.startsWith('/') : place === root || place.startsWith(root === '/' ? '/' : `${root}/`)
const matches = (rule: string, host: string): boolean =>
  rule.startsWith('*.') ? host.endsWith(rule.slice(1)) : rule === host
const same = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right)

type Bounds = NonNullable<Floor['policy']>
const bound = (name: string, allowed: (bounds: Bounds) => boolean): Question => ({
  name: `policy.${name}`,
  allowed: floor => allowed(floor.policy ?? {}),
})
const network = (name: string, allowed: (network: NonNullable<Bounds['network']>) => boolean): Question =>
  bound(`network.${name}`, ({ network: given }) => allowed(given ?? {}))

const policyQuestions: Question[] = [
  ...['out/a/x', 'src/x', '/data/x/y', 'zzz'].flatMap(place =>
    (['writableRoots', 'secretFileRoots'] as const).map(field =>
      bound(`${field} ${place}`, bounds => bounds[field]?.some(root => under(root, place)) ?? true),
    ),
  ),
  ...['sub/a/x', 'other', '/x/y', 'zzz'].map(place =>
    bound(`workspaceRoot ${place}`, ({ workspaceRoot }) =>
      workspaceRoot === undefined ? true : workspaceRoot !== null && under(workspaceRoot, place),
    ),
  ),
  ...['a', 'b', 'git', '/usr/bin/git'].flatMap(name =>
    (['environmentAllowlist', 'processAllowlist', 'secretProcessAllowlist', 'providers', 'toolsAllow'] as const).map(
      field => bound(`${field} ${name}`, bounds => bounds[field]?.includes(name) ?? true),
    ),
  ),
  ...['api.example.com', 'x.api.example.com', 'example.com', '127.0.0.1', 'other.test'].map(host =>
    bound(
      `networkAllowlist ${host}`,
      ({ networkAllowlist }) => networkAllowlist?.some(rule => matches(rule, host)) ?? true,
    ),
  ),
  ...['a', 'b'].map(name => bound(`toolsDeny ${name}`, ({ toolsDeny }) => !(toolsDeny ?? []).includes(name))),
  ...(['https', 'http'] as const).map(scheme =>
    network(`allowedSchemes ${scheme}`, ({ allowedSchemes }) => allowedSchemes?.includes(scheme) ?? true),
  ),
  ...[80, 443, 9000].map(port =>
    network(`allowedPorts ${port}`, ({ allowedPorts }) => allowedPorts?.includes(port) ?? true),
  ),
  network('allowPrivate', ({ allowPrivate }) => allowPrivate ?? true),
  network('allowProxy', ({ allowProxy }) => allowProxy ?? true),
  ...[{ env: 'A' }, { env: 'B' }, { env: 'C' }].map(reference =>
    network(`customCa ${reference.env}`, ({ customCa }) => customCa === undefined || same(customCa, reference)),
  ),
  ...[60, 100].map(seconds =>
    network(`connectTimeoutSeconds ${seconds}`, given => seconds <= (given.connectTimeoutSeconds ?? Infinity)),
  ),
  ...[500, 900].map(bytes =>
    network(`maxResponseBytes ${bytes}`, given => bytes <= (given.maxResponseBytes ?? Infinity)),
  ),
  ...[
    { kind: 'a harmless read', mutates: false, isRisky: false },
    { kind: 'a mutation', mutates: true, isRisky: false },
    { kind: 'a risky read', mutates: false, isRisky: true },
  ].map(({ kind, mutates, isRisky }) =>
    bound(`approval: ${kind} without a person`, ({ approval }) => {
      const asks = { never: false, mutations: mutates, high_risk: isRisky, always: true }
      return approval === 'mutations_or_high_risk' ? !mutates && !isRisky : !asks[approval ?? 'never']
    }),
  ),
  ...['pause', 'deny_approval', 'fail'].map((mode, index, all) =>
    bound(`nonInteractive ${mode}`, ({ nonInteractive }) => index >= all.indexOf(nonInteractive ?? 'pause')),
  ),
]

const people = [
  { login: 'alice', id: 1, teams: [] as string[] },
  { login: 'alice', id: 2, teams: ['org/a'] },
  { login: 'bob', id: 9, teams: ['org/b'] },
  { login: 'carol', id: 3, teams: ['org/a', 'org/b'] },
  { login: 'dave', id: 4, teams: [] },
]
const levels = ['read', 'triage', 'write', 'maintain', 'admin']

const floorQuestions: Question[] = [
  ...isolations.map((isolation, index) => ({
    name: `isolation ${isolation}`,
    allowed: (floor: Floor) => index >= isolations.indexOf(floor.minimumIsolation ?? 'process'),
  })),
  ...[1, 5].flatMap(value =>
    ['timeoutSeconds', 'maxTasks'].map(field => ({
      name: `limits.${field} ${value}`,
      allowed: (floor: Floor) => value <= (floor.limits?.[field] ?? Infinity),
    })),
  ),
  ...['a', 'b'].map(image => ({
    name: `image ${image}`,
    allowed: (floor: Floor) => floor.images?.includes(image) ?? true,
  })),
  ...['/opt/a', '/opt/b'].map(place => ({
    name: `searchPath ${place}`,
    allowed: (floor: Floor) => floor.searchPath?.includes(place) ?? true,
  })),
  ...['acme/a', 'acme/*', '*'].map(pattern => ({
    name: `unprotected by ${pattern}`,
    allowed: (floor: Floor) => !(floor.protectedRepositories ?? []).includes(pattern),
  })),
  ...['a', 'b'].map(ref => ({
    name: `workflow ref ${ref}`,
    allowed: (floor: Floor) => floor.allowedWorkflowRefs?.includes(ref) ?? true,
  })),
  ...people.flatMap(person =>
    levels.map(level => ({
      name: `approver ${person.login}/${person.id} with ${level}`,
      // Who is on one floor's list of users and in the other's team only is not eligible.
      mayBeStricter: true as const,
      allowed({ approvers: { users, teams, permission } }: Floor) {
        if (levels.indexOf(level) < levels.indexOf(permission)) return false
        if (users === undefined && teams === undefined) return true
        const isListed = (users ?? []).some(
          ({ login, id }) => login.toLowerCase() === person.login && (id === null || id === person.id),
        )
        return isListed || (teams ?? []).some(team => person.teams.includes(team.toLowerCase()))
      },
    })),
  ),
  ...[1, 2, 4].map(count => ({
    name: `${count} approvals`,
    allowed: (floor: Floor) => count >= (floor.minimumApprovals ?? 1),
  })),
  { name: 'self approval', allowed: floor => !floor.preventSelfApproval },
  ...[3_600, 86_400].map(seconds => ({
    name: `expiry ${seconds}`,
    allowed: (floor: Floor) => seconds <= (floor.expiresAfter ?? Infinity),
  })),
  { name: 'plain words', allowed: floor => floor.plainWords ?? true },
  { name: 'superseded approvals', allowed: floor => floor.onSuperseded !== 'refuse' },
  { name: 'a workspace that is not captured', allowed: floor => floor.workspaceNotCaptured !== 'error' },
  { name: 'no host floor', allowed: floor => floor.requireHostFloor !== true },
]

describe('two floors together', () => {
  it('allow what both allow and nothing else, in every field', () => {
    const said = new Map<string, Set<boolean>>()
    fc.assert(
      fc.property(floors, floors, (a, b) => {
        const met = meetFloors(a, b)
        for (const { name, allowed, mayBeStricter } of [...policyQuestions, ...floorQuestions]) {
          const [both, together] = [allowed(a) && allowed(b), allowed(met)]
          const answers = said.get(name) ?? new Set()
          said.set(name, answers.add(together))
          if (mayBeStricter === true) expect(together && !both, name).toBe(false)
          else expect(together, name).toBe(both)
        }
      }),
      { numRuns: 1_500 },
    )
    // A question that was always answered the same would prove nothing; some are only rarely answered yes or no.
    const rare = /^(policy\.nonInteractive fail|isolation cell|4 approvals|approver (dave.*|.* (read|triage|write)))$/
    for (const [name, answers] of said) if (!rare.test(name)) expect([...answers].sort(), name).toEqual([false, true])
  })
})

describe('a document under a floor', () => {
  /** The effective policy as bounds: `any` is no bound. */
  const boundsOf = ({ network: given, ...policy }: Policy): Bounds => {
    const { allowedPorts, ...rest } = given
    const { providers, toolsAllow, ...lists } = policy
    return {
      ...lists,
      ...(providers !== 'any' && { providers }),
      ...(toolsAllow !== 'any' && { toolsAllow }),
      network: { ...rest, ...(allowedPorts !== 'any' && { allowedPorts }) },
    } as Bounds
  }
  const asFloor = (policy: Bounds): Floor => ({ policy, approvers: { permission: 'write' }, preventSelfApproval: true })

  it('is never allowed more than the floor allows, in every field of the policy', () => {
    fc.assert(
      fc.property(floors, floors, (document, floor) => {
        const { workspaceRoot, approval, network: written, ...rest } = document.policy ?? {}
        const asked = {
          ...rest,
          ...(typeof workspaceRoot === 'string' && { workspaceRoot }),
          ...(approval !== undefined && approval !== 'mutations_or_high_risk' && { approval }),
          ...(written !== undefined && { network: withoutCa(written) }),
        }
        const { policy, violations } = effectivePolicy(asked as never, floor)
        const effective = asFloor(boundsOf(policyValues(policy)))
        for (const { name, allowed } of policyQuestions) {
          // Two roots that exclude each other leave no policy at all, but a violation.
          if (name.startsWith('policy.workspaceRoot') && violations.some(({ field }) => field === 'workspaceRoot'))
            continue
          expect(allowed(effective) && !allowed(floor), name).toBe(false)
        }
      }),
      { numRuns: 1_500 },
    )
  })

  function withoutCa({ customCa, ...rest }: NonNullable<Bounds['network']>) {
    return customCa === null || customCa === undefined ? rest : { ...rest, customCa }
  }
})
