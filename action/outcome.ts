import type { PauseRecord } from '../ledger/port.ts'
import type { AttachAnswer } from '../ledger/wire.ts'
import type { Json } from '../policy/json.ts'
import type { RunState } from '../policy/states.ts'
import { exits } from './failure.ts'

/** How the Action ends: what becomes its outputs, summary and exit code. */
export interface Outcome {
  status: 'succeeded' | 'paused' | 'denied' | 'failed' | 'uncertain' | 'cancelled'
  exitCode: number
  run: string | null
  planDigest: string | null
  outputs: Json
  pause: PauseRecord | null
  issue: { number: number; url: string } | null
  auditUrl: string
  head: string
  /** One line each, for a person. */
  messages: string[]
  /** false where something is left for the post step: the run is not recorded to its end, or its pause has no issue yet. */
  concluded: boolean
}

/** The status output for a run's state; a run still `running` here could not be recorded to its end. */
export function statusOf(state: RunState | string): Outcome['status'] {
  switch (state) {
    case 'succeeded':
    case 'paused':
    case 'denied':
    case 'failed':
    case 'cancelled':
      return state
    default:
      return 'uncertain'
  }
}

/** The process's exit code: with `on-pause: succeed` a pause leaves the step green, the output says 3 all the same. */
export function processExit(outcome: Outcome, onPause: 'fail' | 'succeed'): number {
  return outcome.exitCode === exits.denied && outcome.status === 'paused' && onPause === 'succeed'
    ? 0
    : outcome.exitCode
}

/** What the record of an earlier attempt says, for the rows of the attempt table that run nothing. */
export function recordedOutcome(answer: AttachAnswer): Outcome {
  const { recorded, run, auditUrl, outcome } = answer
  if (recorded === null) {
    const message = `the control plane answered ${outcome} without what it recorded; update it to this version`
    return { ...empty, status: 'failed', exitCode: exits.persistence, run, auditUrl, messages: [message] }
  }
  const { state, exitCode, planDigest, outputs, head, issue, message } = recorded
  const repeated =
    state === 'succeeded' ? ['This run has succeeded before: its outputs are repeated, nothing ran again.'] : []
  const messages = [...repeated, ...(message === '' ? [] : [message])]
  const status = statusOf(state)
  const said = { run, planDigest, outputs: outputs as Json, issue, auditUrl, head, messages }
  return { ...empty, ...said, status, exitCode }
}

/** How the Action ends where no run came about. */
export function faultOutcome(status: Outcome['status'], exitCode: number, messages: string[]): Outcome {
  return { ...empty, status, exitCode, messages }
}

const empty = {
  run: null,
  planDigest: null,
  outputs: null,
  pause: null,
  issue: null,
  auditUrl: '',
  head: '',
  concluded: true,
}
