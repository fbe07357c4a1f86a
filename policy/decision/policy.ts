import type { SecretReference } from '../document/plan.ts'

/** `spec.policy` with every default filled in (02, Fields of `spec.policy`). */
export interface Policy {
  workspaceRoot: string
  writableRoots: string[]
  environmentAllowlist: string[]
  processAllowlist: string[]
  secretFileRoots: string[]
  secretProcessAllowlist: string[]
  networkAllowlist: string[]
  network: NetworkPolicy
  /** `any` = whatever the document declares; a list that came out empty of a meet allows nothing. */
  providers: string[] | 'any'
  toolsAllow: string[] | 'any'
  toolsDeny: string[]
  approval: ApprovalMode
  nonInteractive: NonInteractiveMode
}

export interface NetworkPolicy {
  allowedSchemes: ('https' | 'http')[]
  /** `any`, or the effective ports allowed. */
  allowedPorts: number[] | 'any'
  allowPrivate: boolean
  allowProxy: boolean
  customCa: SecretReference | null
  connectTimeoutSeconds: number
  maxResponseBytes: number
}

export const approvalModes = ['never', 'mutations', 'high_risk', 'always'] as const
/** Which effects wait for a person. After a meet with a floor it may be the union of two modes: see `PolicyFloor`. */
export type ApprovalMode = (typeof approvalModes)[number] | 'mutations_or_high_risk'

export const nonInteractiveModes = ['pause', 'deny_approval', 'fail'] as const
export type NonInteractiveMode = (typeof nonInteractiveModes)[number]
