import type { Digest } from '../policy/canonical.ts'
import type { Floor } from '../policy/decision/floor.ts'
import type { Policy } from '../policy/decision/policy.ts'
import type { Plan } from '../policy/document/plan.ts'
import type { Json } from '../policy/json.ts'
import type { Executor } from './executor.ts'
import type { Host } from './host.ts'
import type { Draft, Journal } from './journal.ts'
import type { NewRun, ProgressEvent, RunnerPorts } from './run.ts'
import type { RunState } from './state.ts'

/** What one process working on one run carries around. */
export interface RunContext {
  ports: RunnerPorts
  run: string
  plan: Plan
  parent: NewRun['parent'] | 'unreadable'
  expiresAfterSeconds: number
  policy: Policy
  origins: { [Field in keyof Policy]: 'document' | 'floor' | 'default' }
  /** Digest of the host's floor, null where there is none. */
  hostFloorDigest: Digest | null
  /** What it says beside the policy that it was met with. */
  hostFloor: Floor | null
  host: Host
  executors: Map<string, Executor>
  journal: Journal
  state: RunState
  /** The face's signal, or the ledger's word that somebody cancelled. */
  stop: AbortSignal
  /** Aborted once the run's budget `maxWallTimeSeconds` is used up: it ends what runs, and nothing else begins. */
  timeUp: AbortController
  /** Commands that travel with the next boundary. */
  carry: Draft[]
  /** performance.now() of the last commit. */
  committedAt: number
  /** Results seen and not yet acknowledged by the ledger. */
  unrecorded: Map<Digest, { task: string; to: string; result: Json }>
  /** performance.now() when this process began with the run. */
  beganAt: number
  messages: string[]
}

/** Commits what is carried and the given commands, in that order. */
export async function commit(context: RunContext, drafts: readonly Draft[]): Promise<void> {
  const all = [...context.carry, ...drafts]
  if (all.length === 0) return
  context.carry = []
  await context.journal.apply(all)
  context.committedAt = performance.now()
  for (const draft of all) if (draft.type === 'effect.finish') context.unrecorded.delete(draft.effect)
}

/** Tells progress, every text redacted. */
export function report(context: Pick<RunContext, 'ports' | 'host'>, event: ProgressEvent): void {
  const { redactor } = context.host.secrets
  const entries = Object.entries(event).map(([key, value]) => [
    key,
    typeof value === 'string' && key !== 'type' ? redactor.text(value) : value,
  ])
  context.ports.report(Object.fromEntries(entries) as ProgressEvent)
}
