import type { Ledger, PauseRecord } from '../ledger/port.ts'
import type { ApprovalSettings, Commit } from '../policy/approval/record.ts'
import type { DecisionStep } from '../policy/decision/decision.ts'
import type { Floor } from '../policy/decision/floor.ts'
import type { Plan } from '../policy/document/plan.ts'
import type { Json, JsonObject } from '../policy/json.ts'
import type { Clock, Ids } from '../policy/ports.ts'
import type { RunState } from '../policy/states.ts'

/** What the runner needs of the world; each face hands in its own. */
export interface RunnerPorts {
  ledger: Ledger
  clock: Clock
  ids: Ids
  /** Canonical workspace directory. */
  workspace: string
  /** The face's environment: sources of secret references, never inherited by children. */
  environment: { readonly [name: string]: string | undefined }
  /** Absolute paths that nothing may write besides the fixed list: the ledger file, the running document. */
  protectedPaths: readonly string[]
  /** Directories whose files are not trusted as executables: the runner's temp. */
  temporaryDirectories: readonly string[]
  /** The floor's extra directories for bare command names. */
  searchPath: readonly string[]
  /** SIGINT, SIGTERM, SIGHUP, SIGQUIT, or the ledger's cancelRequested. */
  signal: AbortSignal
  /** Progress for logs, annotations and the summary; redacted before it is called. */
  report(event: ProgressEvent): void
  /** Told each secret value as soon as it is known, before anything can print it, for masks of the face's own; absent = nobody. */
  learnSecrets?(values: readonly string[]): void
  /** Somebody sits at a terminal and is asked now, whatever `nonInteractive` says; absent = nobody. */
  interactive?: boolean
  /** The host's floor, met with the plan's policy at every decision and bound into every approval; absent or null = none. */
  hostFloor?: Floor | null
  /** false in a job container, which hides the host's files; absent = readable. */
  hostFloorReadable?: boolean
  /** For tests; absent = `defaultTimings`. */
  timings?: Timings
}

/** Times of the runner's own, in milliseconds. */
export interface Timings {
  /** How often the lease is renewed. */
  renewEvery: number
  /** No effect starts later than this after the last acknowledged renewal. */
  startWithin: number
  /** How long a result is offered to a ledger that cannot be reached. */
  deliverFor: number
  /** The same once the run was told to stop. */
  deliverForCancelled: number
}

export const defaultTimings: Timings = {
  renewEvery: 20_000,
  startWithin: 40_000,
  deliverFor: 600_000,
  deliverForCancelled: 4_000,
}

export type ProgressEvent =
  | { type: 'task.started'; task: string; kind: string }
  | {
      type: 'task.ended'
      task: string
      state: string
      milliseconds: number
      message: string
      /** What held its last effect while it ran, and what was absent; absent where nothing had to. */
      enforcement?: JsonObject
    }
  /** `reason` of an `allow` names the rules that let it pass; `steps` are the answers with the rule that gave each. */
  | { type: 'decision'; task: string; outcome: string; reason: string; steps: readonly DecisionStep[] }
  | { type: 'output'; task: string; stream: 'stdout' | 'stderr'; text: string }
  | { type: 'restored'; path: string }
  | { type: 'warning'; message: string }

export interface NewRun {
  run: string
  epoch: number
  plan: Plan
  document: string
  commit: Commit
  settings: ApprovalSettings
  resumeWith: 'rerun' | 'workflow_dispatch'
  /** Effects that a failed parent run confirmed: those neither pure nor idempotent always ask again. */
  parent: {
    run: string
    confirmed: { operation: string; task: string; inputDigest: string; effect: string; at: string }[]
  } | null
}

export interface ResumedRun {
  run: string
  epoch: number
  commit: Commit
  /** Digest of the document in this checkout; a different one is refused with both named. null skips (nothing to compare). */
  workflowDigest: string | null
  /** As in NewRun, where the run has a parent; absent = read from the ledger where that is allowed, else everything that it could have confirmed asks. */
  parent?: NewRun['parent']
  /** At most so long may a later pause wait: the floor of now, where it has an `expiresAfter`. */
  expiresWithinSeconds?: number
}

/** How a run stands when the runner is done with it. */
export interface RunOutcome {
  run: string
  state: RunState
  exitCode: number
  outputs: Json
  pause: PauseRecord | null
  /** One line per thing that a person should know: the denial, the failure, the uncertain effect with its command. */
  messages: string[]
  head: string
}
