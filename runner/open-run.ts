import { floorDigest, policyOrigins, policyValues, underHostFloor } from '../policy/decision/index.ts'
import type { Plan } from '../policy/document/plan.ts'
import { type LongTermValues, longTermStore, openLongTerm } from './builtin/long-term-store.ts'
import { commit, type RunContext } from './context.ts'
import { createExecutors } from './executors.ts'
import { type HostPorts, openHost } from './host.ts'
import { Journal } from './journal.ts'
import { patiently } from './patience.ts'
import { defaultTimings, type ProgressEvent, type RunnerPorts } from './run.ts'
import { RunState } from './state.ts'

export interface OpenedRun {
  run: string
  epoch: number
  plan: Plan
  parent: RunContext['parent']
  expiresAfterSeconds: number
}

/** Everything that a run needs in this process. Throws UnknownFact where the policy's workspace cannot be had. */
export function openRun(ports: RunnerPorts, opened: OpenedRun): RunContext {
  const cancelled = new AbortController()
  const stop = AbortSignal.any([ports.signal, cancelled.signal])
  const timings = ports.timings ?? defaultTimings
  const longTerm = openLongTerm(ports.ledger, opened.plan, {
    flush: () => commit(context, []),
    patiently: call => patiently(timings, stop, call),
  })
  const bound = bind(ports, opened.plan, ports.report, longTerm)
  const journal = new Journal({
    ledger: ports.ledger,
    ids: ports.ids,
    run: opened.run,
    epoch: opened.epoch,
    timings,
    stop,
    onCancel: () => cancelled.abort(new Error('cancelled through the ledger')),
  })
  const context: RunContext = {
    ...bound,
    ports,
    run: opened.run,
    plan: opened.plan,
    parent: opened.parent,
    expiresAfterSeconds: opened.expiresAfterSeconds,
    journal,
    state: new RunState(opened.plan),
    stop,
    timeUp: new AbortController(),
    carry: [],
    committedAt: performance.now(),
    unrecorded: new Map(),
    beganAt: performance.now(),
    messages: [],
  }
  return context
}

/** The plan on this host: policy under the host's floor, executors, secrets. */
export function bind(
  ports: HostPorts & Pick<RunnerPorts, 'hostFloor'>,
  plan: Plan,
  report: (event: ProgressEvent) => void,
  longTerm: LongTermValues | null = null,
): Pick<RunContext, 'policy' | 'origins' | 'hostFloorDigest' | 'hostFloor' | 'host' | 'executors'> {
  const floor = ports.hostFloor ?? null
  const effective = underHostFloor(plan.effectivePolicy, floor).policy
  const policy = policyValues(effective)
  const host = openHost(ports, plan, policy, (task, stream, text) => report({ type: 'output', task, stream, text }))
  return {
    policy,
    origins: policyOrigins(effective),
    hostFloorDigest: floor === null ? null : floorDigest(floor),
    hostFloor: floor,
    host,
    executors: createExecutors(host, longTermStore(plan, longTerm)),
  }
}
