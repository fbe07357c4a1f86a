import type { LedgerStore } from '../../ledger/index.ts'
import type { RunRecord } from '../../ledger/port.ts'
import type { AttachAnswer } from '../../ledger/wire.ts'
import type { Json } from '../../policy/json.ts'
import { exitCodes } from '../../policy/states.ts'

type Recorded = NonNullable<AttachAnswer['recorded']>
type Confirmed = NonNullable<AttachAnswer['parent']>['confirmed']

/** Generations of failed runs that are looked back through. */
const generations = 50

/** What the ledger says of a run, for an attempt that finds it. */
export function recordedEnd(store: LedgerStore, record: RunRecord): Recorded {
  const pause = record.pause === null ? null : store.pause(record.pause)
  return {
    state: record.state,
    exitCode: exitCodes[record.state],
    planDigest: record.planDigest,
    outputs: record.state === 'succeeded' ? outputsOf(store, record.run) : null,
    head: store.head(`run/${record.run}`),
    pause: record.pause,
    issue: pause?.issue ? { number: pause.issue.number, url: pause.issue.url } : null,
    message: messageOf(store, record),
  }
}

function outputsOf(store: LedgerStore, run: string): Json {
  return store.snapshot(run)?.outputs ?? null
}

function messageOf(store: LedgerStore, { run, state }: RunRecord): string {
  switch (state) {
    case 'succeeded':
      return `run ${run} has succeeded already; its recorded outputs are given again and nothing was repeated`
    case 'uncertain':
      return uncertainMessage(store, run)
    case 'denied':
      return `run ${run} was denied (${denials(store, run)}); start a new workflow run to ask again`
    case 'cancelled':
      return `run ${run} was cancelled; start a new workflow run`
    case 'paused':
      return `run ${run} waits for people`
    default:
      return `run ${run} is ${state}`
  }
}

function uncertainMessage(store: LedgerStore, run: string): string {
  const uncertain = store.effects(run).filter(({ state }) => state === 'uncertain')
  const commands = uncertain.map(
    ({ effect, task }) =>
      `task ${task}: agentctl effects reconcile ${effect} --status applied|not-applied|compensated --reason TEXT`,
  )
  return `run ${run} has effects of which nobody knows whether they happened; say so first. ${commands.join('; ')}`
}

function denials(store: LedgerStore, run: string): string {
  const denied = store.effects(run).filter(({ state }) => state === 'denied')
  const causes = denied.map(({ task, denial }) => `task ${task}: ${denial ?? 'policy'}`)
  return causes.length === 0 ? 'by policy' : causes.join(', ')
}

/**
 * Effects that a failed run or one that it followed confirmed and that are neither pure nor idempotent: doing them again
 * always asks.
 */
export function confirmedBefore(store: LedgerStore, failed: RunRecord): Confirmed {
  const confirmed: Confirmed = []
  let current: RunRecord | null = failed
  for (let depth = 0; current !== null && depth < generations; depth++) {
    for (const effect of store.effects(current.run)) {
      if (effect.state !== 'succeeded' || ['pure', 'idempotent'].includes(effect.idempotency)) continue
      const { operation, task, inputDigest, finishedAt, requestedAt } = effect
      confirmed.push({ operation, task, inputDigest, effect: effect.effect, at: finishedAt ?? requestedAt })
    }
    current = current.parent === null ? null : store.record(current.parent)
  }
  return confirmed
}
