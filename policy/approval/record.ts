import type { Digest } from '../canonical.ts'
import type { DecisionStep } from '../decision/decision.ts'
import type { EffectClass, Isolation, Risk } from '../effect.ts'
import type { Json, JsonObject } from '../json.ts'

/** What a person is asked about, and what became of it (04, Record). One per item of a pause. */
export interface ApprovalRecord {
  /** SHA-256 over effect id and pause id. */
  id: string
  run: string
  pause: string
  /** Number under which the issue lists it, from 1; fixed when the issue is registered. */
  number: number
  /** `run/task/attempt/ordinal`. */
  trace: string
  task: string
  agent: string | null
  tool: string
  capability: string
  effect: Digest
  effectClass: EffectClass
  risk: Risk
  isolation: Isolation
  /** Redacted. */
  input: JsonObject
  inputDigest: Digest
  bindingDigest: Digest
  /** What will happen: a diff for a write; argv, limits and digests for a process. Redacted. */
  expectedEffect: ExpectedEffect
  reason: string
  decisionTrace: DecisionStep[]
  planDigest: Digest
  commit: Commit
  /** ISO times. */
  requestedAt: string
  expiresAt: string
  /** Distinct people who must approve. */
  needed: number
  resolution: Resolution | null
}

/** GITHUB_SHA and the workspace's HEAD; null where there is none. Compared one by one at resume. */
export interface Commit {
  sha: string | null
  head: string | null
}

export type ExpectedEffect =
  | { kind: 'write'; path: string; diff: string; beforeSha256: Digest | null; afterSha256: Digest; bytes: number }
  | {
      kind: 'process'
      command: string
      realPath: string
      executableSha256: Digest
      /** What would load a script, outermost first; absent in records of versions that did not bind it. */
      interpreters?: { path: string; sha256: Digest }[]
      args: string[]
      cwd: string
      environment: string[]
      argvFiles: { [path: string]: Digest }
      limits: { [name: string]: number }
      /** What an extension declares, whose handshake must equal it; absent where the process is none. */
      extension?: { protocolVersion: string; capabilities: string[] }
      /** Programs that run first, each to give the value of one variable; absent where there are none. */
      secretHelpers?: SecretHelperShown[]
    }
  | {
      kind: 'container'
      command: string
      args: string[]
      engine: { kind: 'docker' | 'podman'; version: string }
      image: { reference: string; id: string }
      cwd: string
      environment: string[]
      argvFiles: { [path: string]: Digest }
      limits: { [name: string]: number }
      extension?: { protocolVersion: string; capabilities: string[] }
      /** As of a process: they run on the host. */
      secretHelpers?: SecretHelperShown[]
    }
  | { kind: 'other'; summary: string; detail: Json }

/** A program that runs first, to give the value of one variable. */
export interface SecretHelperShown {
  variable: string
  command: string
  args: string[]
  realPath: string
  executableSha256: Digest
}

export const resolutionOutcomes = ['approved', 'rejected', 'expired', 'cancelled'] as const
export type ResolutionOutcome = (typeof resolutionOutcomes)[number]

export interface Resolution {
  outcome: ResolutionOutcome
  by: Person[]
  reason: string
  at: string
  via: 'comment' | 'page' | 'api' | 'cli' | 'system'
}

/** A GitHub account by its numeric id, or a local user (`local:<uid>`, id null). */
export interface Person {
  id: number | null
  login: string
}

/** How a pause is shown and decided; fixed with the pause. */
export interface ApprovalSettings {
  minimumApprovals: number
  /** Who may decide beside holding `permission`; null = anyone who holds it. */
  users: { login: string; id: number | null }[] | null
  teams: string[] | null
  permission: 'read' | 'triage' | 'write' | 'maintain' | 'admin'
  preventSelfApproval: boolean
  /** Whole seconds from the pause to its expiry, at most 29 days. */
  expiresAfterSeconds: number
  plainWords: boolean
  /** `@login` and `@org/team` that the issue may mention. */
  notify: string[]
  labels: string[]
  issueDetail: 'full' | 'summary'
  onSuperseded: 'warn' | 'refuse'
}

/** 7 days by default; 29 at most, since a re-run is possible for 30 (04, Record). */
export const expiryDefaultSeconds = 7 * 86_400
export const expiryMaxSeconds = 29 * 86_400

/** No floor is this floor: write permission, one approval. */
export const defaultApprovalSettings: ApprovalSettings = {
  minimumApprovals: 1,
  users: null,
  teams: null,
  permission: 'write',
  preventSelfApproval: false,
  expiresAfterSeconds: expiryDefaultSeconds,
  plainWords: true,
  notify: [],
  labels: ['agentctl', 'approval'],
  issueDetail: 'full',
  onSuperseded: 'warn',
}
