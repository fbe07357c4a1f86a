import { isOver, type Owner, ownIdentity } from '../process/containment/proc.ts'

/** Labels of each container that agentctl makes (09). */
export const label = {
  run: 'dev.agentctl.run',
  effect: 'dev.agentctl.effect',
  owner: 'dev.agentctl.owner',
} as const

/** This process as a label names it: pid, start, boot and pid namespace; `unknown` where /proc does not tell them. */
export function ownerLabel(owner: Owner | null = ownIdentity()): string {
  return owner === null ? 'unknown' : [owner.pid, owner.start, owner.boot, owner.pidNamespace].join(' ')
}

/**
 * Whether the agentctl that made a container is certainly over: it lived before this boot, or in this pid namespace and
 * lives no more. Anything else may be another live run's.
 */
export function isOwnerDead(written: string | undefined, here: Pick<Owner, 'boot' | 'pidNamespace'>): boolean {
  const owner = readOwner(written)
  if (owner === null) return false
  return owner.boot !== here.boot || (owner.pidNamespace === here.pidNamespace && isOver(owner))
}

/** Who a label or a note names; null where it is none of ours. */
export function readOwner(written: string | undefined): Owner | null {
  const [, pid, start, boot, pidNamespace] = /^(\d+) (\d+) (\S+) (\S+)$/.exec(written ?? '') ?? []
  if (pid === undefined || start === undefined || boot === undefined || pidNamespace === undefined) return null
  return { pid: Number(pid), start: Number(start), boot, pidNamespace }
}
