import { canonical } from '../canonical.ts'
import type { SecretReference } from '../document/plan.ts'
import type { PolicyBounds } from './floor.ts'
import { hostRuleContains, normalizeHostRule } from './hosts.ts'
import { normalizeRoot, rootContains } from './paths.ts'
import { type ApprovalMode, type NonInteractiveMode, nonInteractiveModes } from './policy.ts'
import { joinLists, meetLists, names, nested, normalForm, type Order } from './sets.ts'

export const rootOrder = nested(rootContains)
export const hostOrder = nested(hostRuleContains)

/** How each list of a policy is compared. */
export const listOrders = {
  writableRoots: rootOrder,
  environmentAllowlist: names,
  processAllowlist: names,
  secretFileRoots: rootOrder,
  secretProcessAllowlist: names,
  networkAllowlist: hostOrder,
  providers: names,
  toolsAllow: names,
} as const satisfies { [field: string]: Order<string> }
export type ListField = keyof typeof listOrders
export const listFields = Object.keys(listOrders) as ListField[]

type NetworkBounds = NonNullable<PolicyBounds['network']>

/** One spelling for each bound. */
export function normalizeBounds(bounds: PolicyBounds): PolicyBounds {
  const normal: PolicyBounds = { ...bounds }
  if (typeof bounds.workspaceRoot === 'string') normal.workspaceRoot = normalizeRoot(bounds.workspaceRoot)
  for (const field of listFields) {
    const list = bounds[field]
    if (list !== undefined) normal[field] = normalList(field, list)
  }
  if (bounds.toolsDeny !== undefined) normal.toolsDeny = normalForm(bounds.toolsDeny, names)
  if (bounds.network !== undefined) normal.network = normalizeNetwork(bounds.network)
  return withoutUndefined(normal)
}

/** A list of a policy in its normal form. */
export function normalList(field: ListField, list: readonly string[]): string[] {
  return normalForm(
    list.map(entry => normalEntry(field, entry)),
    listOrders[field],
  )
}

/** One entry of a list in its normal form. */
export function normalEntry(field: ListField, entry: string): string {
  if (listOrders[field] === rootOrder) return normalizeRoot(entry)
  if (listOrders[field] !== hostOrder) return entry
  const rule = normalizeHostRule(entry)
  return rule.ok ? rule.host : entry
}

/** What both bounds allow. */
export function meetBounds(left: PolicyBounds, right: PolicyBounds): PolicyBounds {
  const met: PolicyBounds = {
    workspaceRoot: both(left.workspaceRoot, right.workspaceRoot, meetWorkspaceRoot),
    toolsDeny: both(left.toolsDeny, right.toolsDeny, joinLists),
    network: both(left.network, right.network, meetNetwork),
    approval: both(left.approval, right.approval, joinApproval),
    nonInteractive: both(left.nonInteractive, right.nonInteractive, stricterNonInteractive),
  }
  for (const field of listFields) {
    met[field] = both(left[field], right[field], (a, b) => meetLists(a, b, listOrders[field]))
  }
  return withoutUndefined(met)
}

/** The union of what two approval modes require. */
export function joinApproval(left: ApprovalMode, right: ApprovalMode): ApprovalMode {
  if (left === right || right === 'never') return left
  if (left === 'never') return right
  return left === 'always' || right === 'always' ? 'always' : 'mutations_or_high_risk'
}

/** `pause` lets a person decide later; the denials do not. */
export function stricterNonInteractive(left: NonInteractiveMode, right: NonInteractiveMode): NonInteractiveMode {
  return nonInteractiveModes.indexOf(left) > nonInteractiveModes.indexOf(right) ? left : right
}

/** The deeper of two directories, null where neither holds the other. */
export function meetWorkspaceRoot(left: string | null, right: string | null): string | null {
  return left === null || right === null ? null : rootOrder.meet(left, right)
}

export function sameReference(left: SecretReference | null, right: SecretReference | null): boolean {
  return left === right || (left !== null && right !== null && canonical(left) === canonical(right))
}

export function meetNetwork(left: NetworkBounds, right: NetworkBounds): NetworkBounds {
  return withoutUndefined({
    allowedSchemes: both(left.allowedSchemes, right.allowedSchemes, (a, b) => a.filter(scheme => b.includes(scheme))),
    allowedPorts: both(left.allowedPorts, right.allowedPorts, (a, b) => a.filter(port => b.includes(port))),
    allowPrivate: both(left.allowPrivate, right.allowPrivate, (a, b) => a && b),
    allowProxy: both(left.allowProxy, right.allowProxy, (a, b) => a && b),
    customCa: both(left.customCa, right.customCa, (a, b) => (sameReference(a, b) ? a : null)),
    connectTimeoutSeconds: both(left.connectTimeoutSeconds, right.connectTimeoutSeconds, Math.min),
    maxResponseBytes: both(left.maxResponseBytes, right.maxResponseBytes, Math.min),
  })
}

function normalizeNetwork(network: NetworkBounds): NetworkBounds {
  const normal = { ...network }
  if (network.allowedSchemes !== undefined) normal.allowedSchemes = [...new Set(network.allowedSchemes)].sort()
  if (network.allowedPorts !== undefined) normal.allowedPorts = [...new Set(network.allowedPorts)].sort((a, b) => a - b)
  return withoutUndefined(normal)
}

/** A field that only one side states is that side's. */
export function both<Value>(
  left: Value | undefined,
  right: Value | undefined,
  meet: (left: Value, right: Value) => Value,
): Value | undefined {
  if (left === undefined) return right
  return right === undefined ? left : meet(left, right)
}

/** The same object without the fields that are undefined, so that equal floors are equal values. */
export function withoutUndefined<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Value
}
