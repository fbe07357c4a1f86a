import type { EffectivePolicy, PolicyOrigin } from '../document/plan.ts'
import {
  joinApproval,
  type ListField,
  listFields,
  listOrders,
  meetWorkspaceRoot,
  normalEntry,
  rootOrder,
  sameReference,
  stricterNonInteractive,
} from './bounds.ts'
import type { Floor, PolicyBounds } from './floor.ts'
import { normalizeRoot } from './paths.ts'
import type { NetworkPolicy, Policy } from './policy.ts'
import { type WrittenPolicy, withDefaults } from './schema.ts'
import { beyond, joinLists, meetLists } from './sets.ts'

/** A field of a document that asks for more than a floor allows. */
export interface FloorViolation {
  /** Dotted path below `spec.policy`, `network.allowPrivate`. */
  field: string
  /** Names field, value, floor and remedy. */
  message: string
  /** Who set the bound, `organisation`, or several joined by ` and `. */
  floor: string
}

export interface EffectiveResult {
  policy: EffectivePolicy
  violations: FloorViolation[]
}

/**
 * Floor meets document. What the document leaves out is tightened silently, with origin `floor`; what it asks for beyond
 * the floor is a violation. `approval` is never one: it becomes the union of what each requires.
 */
export function effectivePolicy(written: WrittenPolicy, floor: Floor | null): EffectiveResult {
  const isWritten = (field: keyof Policy) => written[field] !== undefined
  return meetPolicy(withDefaults(written), written, floor, field => (isWritten(field) ? 'document' : 'default'))
}

/**
 * The same for a policy that is already effective: the runner's host floor over the stored plan. Whatever the document or
 * the repository's floor set beyond the host's floor is a violation.
 */
export function underHostFloor(effective: EffectivePolicy, floor: Floor | null): EffectiveResult {
  const policy = policyValues(effective)
  return meetPolicy(policy, asWritten(effective), floor, field => effective[field].origin)
}

/** The values of an effective policy, as `decide` takes them. */
export function policyValues(effective: EffectivePolicy): Policy {
  return Object.fromEntries(Object.entries(effective).map(([field, { value }]) => [field, value])) as unknown as Policy
}

/** The origins of an effective policy, as `decide` takes them. */
export function policyOrigins(effective: EffectivePolicy): { [Field in keyof Policy]: PolicyOrigin } {
  return Object.fromEntries(Object.entries(effective).map(([field, { origin }]) => [field, origin])) as {
    [Field in keyof Policy]: PolicyOrigin
  }
}

function meetPolicy(
  policy: Policy,
  written: WrittenPolicy,
  floor: Floor | null,
  originOf: (field: keyof Policy) => PolicyOrigin,
): EffectiveResult {
  const bounds = floor?.policy ?? {}
  const violations: FloorViolation[] = []
  const violate = (field: string, asked: string, remedy: string) => {
    const set = floor?.setBy?.[`policy.${field.split('.')[0]}`] ?? ['floor']
    const by = set.join(' and ')
    const message = `policy.${field} asks for ${asked}, which the floor set by ${by} does not allow; ${remedy}`
    violations.push({ field, message, floor: by })
  }
  const met: Policy = {
    ...policy,
    workspaceRoot: meetRoot(policy, written, bounds, violate),
    network: meetNetworkPolicy(policy.network, written, bounds, violate),
    toolsDeny: bounds.toolsDeny === undefined ? policy.toolsDeny : joinKeeping(policy.toolsDeny, bounds.toolsDeny),
    approval: bounds.approval === undefined ? policy.approval : joinApproval(policy.approval, bounds.approval),
    nonInteractive: meetNonInteractive(policy, written, bounds, violate),
  }
  for (const field of listFields) Object.assign(met, { [field]: meetList(field, policy, written, bounds, violate) })
  const fields = Object.keys(policy) as (keyof Policy)[]
  const effective = Object.fromEntries(
    fields.map(field => [
      field,
      { value: met[field], origin: met[field] === policy[field] ? originOf(field) : 'floor' },
    ]),
  ) as unknown as EffectivePolicy
  return { policy: effective, violations }
}

type Violate = (field: string, asked: string, remedy: string) => void

/** The policy's own list where the bound changes nothing, so that an unchanged field is recognised by identity. */
function meetList(field: ListField, policy: Policy, written: WrittenPolicy, bounds: PolicyBounds, violate: Violate) {
  const bound = bounds[field]
  const list = policy[field]
  if (bound === undefined) return list
  if (list === 'any') return bound
  const order = listOrders[field]
  const entries = list.map(entry => normalEntry(field, entry))
  const excess = beyond(entries, bound, order)
  if (excess.length === 0) return list
  if (written[field] !== undefined) {
    const allowed = bound.length === 0 ? 'nothing' : bound.map(entry => `\`${entry}\``).join(', ')
    violate(field, excess.map(entry => `\`${entry}\``).join(', '), `the floor allows ${allowed}`)
  }
  return meetLists(entries, bound, order)
}

function meetRoot(policy: Policy, written: WrittenPolicy, bounds: PolicyBounds, violate: Violate): string {
  const bound = bounds.workspaceRoot
  if (bound === undefined) return policy.workspaceRoot
  const asked = normalizeRoot(policy.workspaceRoot)
  const met = meetWorkspaceRoot(asked, bound)
  const fits = bound !== null && rootOrder.contains(bound, asked)
  if (fits) return policy.workspaceRoot
  if (written.workspaceRoot !== undefined || met === null) {
    violate(
      'workspaceRoot',
      `\`${policy.workspaceRoot}\``,
      bound === null ? 'the floors exclude each other; change one' : `use \`${bound}\` or a directory below it`,
    )
  }
  return met ?? bound ?? policy.workspaceRoot
}

function meetNonInteractive(policy: Policy, written: WrittenPolicy, bounds: PolicyBounds, violate: Violate) {
  const bound = bounds.nonInteractive
  if (bound === undefined) return policy.nonInteractive
  if (written.nonInteractive === 'pause' && bound !== 'pause') violate('nonInteractive', '`pause`', `use \`${bound}\``)
  return stricterNonInteractive(policy.nonInteractive, bound)
}

function meetNetworkPolicy(
  network: NetworkPolicy,
  written: WrittenPolicy,
  bounds: PolicyBounds,
  violate: Violate,
): NetworkPolicy {
  const bound = bounds.network
  if (bound === undefined) return network
  const asked = written.network ?? {}
  const met: NetworkPolicy = {
    allowedSchemes: network.allowedSchemes.filter(scheme => bound.allowedSchemes?.includes(scheme) ?? true),
    allowedPorts: meetPorts(network.allowedPorts, bound.allowedPorts),
    allowPrivate: network.allowPrivate && (bound.allowPrivate ?? true),
    allowProxy: network.allowProxy && (bound.allowProxy ?? true),
    customCa: bound.customCa === undefined || sameReference(network.customCa, bound.customCa) ? network.customCa : null,
    connectTimeoutSeconds: Math.min(network.connectTimeoutSeconds, bound.connectTimeoutSeconds ?? Infinity),
    maxResponseBytes: Math.min(network.maxResponseBytes, bound.maxResponseBytes ?? Infinity),
  }
  const differs = (Object.keys(met) as (keyof NetworkPolicy)[]).filter(field => !same(met[field], network[field]))
  for (const field of differs) {
    if (asked[field] === undefined) continue
    violate(
      `network.${field}`,
      `\`${JSON.stringify(asked[field])}\``,
      `the floor allows \`${JSON.stringify(met[field])}\``,
    )
  }
  return differs.length === 0 ? network : met
}

function meetPorts(ports: number[] | 'any', bound: number[] | undefined): number[] | 'any' {
  if (bound === undefined) return ports
  return ports === 'any' ? bound : ports.filter(port => bound.includes(port))
}

function same(left: NetworkPolicy[keyof NetworkPolicy], right: NetworkPolicy[keyof NetworkPolicy]): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}

function joinKeeping(list: string[], more: readonly string[]): string[] {
  return more.every(entry => list.includes(entry)) ? list : joinLists(list, more)
}

/** What was set on purpose of an effective policy, in the form of a written one. */
function asWritten(effective: EffectivePolicy): WrittenPolicy {
  const set = Object.entries(effective).filter(([, field]) => field.origin === 'document')
  const written = set.map(([field, { value }]) => [field, value === 'any' ? [] : value])
  const network = effective.network.origin === 'document' ? { network: writtenNetwork(effective.network.value) } : {}
  return { ...Object.fromEntries(written), ...network } as WrittenPolicy
}

function writtenNetwork(network: NetworkPolicy): WrittenPolicy['network'] {
  const { allowedPorts, customCa, ...rest } = network
  return { ...rest, ...(allowedPorts === 'any' ? {} : { allowedPorts }), ...(customCa === null ? {} : { customCa }) }
}
