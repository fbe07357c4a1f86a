import type { ExpectedEffect } from '../policy/approval/record.ts'
import type { Binding } from '../policy/binding.ts'
import type { Facts } from '../policy/decision/facts.ts'
import type { PlanTask } from '../policy/document/plan.ts'
import type { Predictability } from '../policy/effect.ts'
import type { Json, JsonObject } from '../policy/json.ts'

/** How a process ended; `lost` (no exit code seen) is uncertain, never success (03, Execution). */
export type ProcessEnd =
  | { kind: 'exited'; code: number }
  | { kind: 'signalled'; signal: string }
  | { kind: 'spawn_failed'; code: string; message: string }
  | { kind: 'timed_out'; seconds: number }
  | { kind: 'cancelled'; reason: string }
  /** `byBudget`: the bound was what the run's budget had left, smaller than the action's own. */
  | { kind: 'output_exceeded'; stream: 'stdout' | 'stderr' | 'combined'; limitBytes: number; byBudget?: true }
  | { kind: 'limit_exceeded'; limit: string; amount: number }
  | { kind: 'lost'; message: string }

/** What was captured, never more than the limits. */
export interface Captured {
  stdout: Uint8Array
  stderr: Uint8Array
}

/**
 * What an effect came to. `failed` is definite (a retry may repeat it), `uncertain` is not known to have happened or not;
 * both carry a code and a message that names what to do.
 */
export type EffectResult = (
  | { kind: 'succeeded'; output: Json; artifacts: ProducedArtifact[] }
  | { kind: 'failed'; code: string; message: string; output: Json; retrySafe: boolean }
  | { kind: 'uncertain'; code: string; message: string; output: Json }
  | { kind: 'cancelled'; message: string }
) & {
  /** What held it while it ran, recorded with the effect; absent where nothing had to. */
  enforcement?: JsonObject
  /** With a success: what it leaves in the long-term memory, redacted; written in the transaction that records it. */
  longTerm?: { namespace: string; key: string; value: Json; retentionDays: number | null }
}

/**
 * How the processes of one effect were held, and what of it could not be had. `cgroup`: born in a cgroup of its own that
 * was seen empty at the end. `container`: in one that was seen gone at the end. `best-effort`: killed in passes over what could be found (03, Containment).
 */
export interface Containment {
  containment: 'cgroup' | 'container' | 'best-effort'
  /** Guarantees that this host could not give, each with why. */
  absent: { guarantee: Guarantee; reason: string }[]
  /** Processes that could not be ended, by pid as seen at the end. */
  left: { pid: number; command: string }[]
}

/** What agentctl arms before it starts a process on the host; each may be absent where the host cannot give it. */
export type Guarantee =
  /** A child of the same user cannot read agentctl's environment, memory and descriptors. */
  | 'non_dumpable'
  /** Orphans of a child become agentctl's children, so that they are found. */
  | 'subreaper'
  /** Descriptors that agentctl itself inherited do not reach its children. */
  | 'closed_descriptors'
  /** Whatever a process starts can be ended as a whole, and is proven to be gone. */
  | 'cgroup'
  /** What agentctl leaves behind when it is killed is found by the next start. */
  | 'findable_after_crash'

/** A file that the effect left in the workspace, to be kept for a resume on another machine; null bytes = deleted. */
export interface ProducedArtifact {
  path: string
  mode: number
  before: string | null
  bytes: Uint8Array | null
}

/** What a task asks for, its input resolved. */
export interface ExecutionRequest {
  task: PlanTask
  input: JsonObject
  effectId: string
  /** Id of the run, by which what is made for the effect can be told; absent = it is not known. */
  run?: string
  /** Working memory as the batch saw it. */
  memory: JsonObject
  /** Bytes of artifacts that the run may still keep; absent = no bound. */
  artifactBytesLeft?: number
  /** Bytes that processes of the run may still print; absent = no bound. */
  outputBytesLeft?: number
}

/**
 * Everything known before anything is requested. A prepared effect holds descriptors where check and use must be on one
 * object; `close` gives them back, whether started or not.
 */
export interface Prepared {
  facts: Facts
  binding: Binding
  expected: ExpectedEffect
  predictability: Predictability
  /** The effect is already in place (a write of the same bytes): this output, and nothing is requested. */
  unchanged: Json | null
  start(signal: AbortSignal): Running
  close(): void
}

export interface Running {
  wait: Promise<EffectResult>
  /** Ends it, whole tree included; resolves when it is gone. */
  kill(reason: string): Promise<void>
}

/** One kind of action. `prepare` fails only with an ExecutorError: a named, definite reason why nothing was requested. */
export interface Executor {
  kinds: readonly string[]
  prepare(request: ExecutionRequest): Promise<Prepared>
}

/** A definite failure before anything was requested: command not found, not executable, input of the wrong shape. */
export class ExecutorError extends Error {
  override readonly name = 'ExecutorError'
  readonly code: string
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
