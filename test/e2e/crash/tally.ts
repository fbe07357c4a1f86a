import { expect } from 'vitest'
import { effectful, processes } from './document.ts'

/** Kills by what the killed process had done: nothing yet in the ledger, some of its work, all of it. */
export interface Tally {
  before: number
  during: number
  after: number
  /** Effects that were hit themselves, hence uncertain until reconciled. */
  uncertain: number
}

export const emptyTally = (): Tally => ({ before: 0, during: 0, after: 0, uncertain: 0 })

export const killsOf = ({ before, during, after }: Tally): number => before + during + after

export function add(to: Tally, more: Tally): void {
  for (const key of ['before', 'during', 'after', 'uncertain'] as const) to[key] += more[key]
}

/** Which phase a kill hit, by the events before the process and after its death. */
export function phaseOf(eventsBefore: number, eventsAfter: number, ended: boolean): 'before' | 'during' | 'after' {
  if (eventsAfter === eventsBefore) return 'before'
  return ended ? 'after' : 'during'
}

interface Line {
  type: string
  subject: string
  // biome-ignore lint/suspicious/noExplicitAny: the checks say which member of which type they read
  data: any
}

/** Every effect of a run that succeeded happened once, by its audit chain and by the witness. */
export function expectExactlyOnce(lines: readonly Line[], witness: readonly string[], gated: boolean): void {
  const subjects = (type: string) => lines.filter(line => line.type === type).map(({ subject }) => subject)
  for (const type of ['effect.started', 'effect.finished', 'effect.approved', 'approval.resolved'])
    expect(repeated(subjects(type)), `${type} twice`).toEqual([])

  const taskOf = new Map(
    lines.filter(({ type }) => type === 'effect.requested').map(one => [one.subject, one.data.task]),
  )
  const done = lines.filter(
    ({ type, data }) => (type === 'effect.finished' || type === 'effect.reconciled') && data.to === 'succeeded',
  )
  const tasksDone = done.map(({ subject }) => taskOf.get(subject)).filter(task => effectful.includes(task))
  expect(tasksDone.sort()).toEqual(effectful)
  expect([...witness].sort()).toEqual([...processes])

  const started = lines.filter(
    ({ type, subject }) => type === 'effect.started' && effectful.includes(taskOf.get(subject)),
  )
  const approvals = started.map(({ data }) => data.approval)
  if (!gated) return
  expect(approvals).not.toContain(null)
  expect(repeated(approvals), 'one approval, two effects').toEqual([])
}

function repeated(values: readonly string[]): string[] {
  return values.filter((value, index) => values.indexOf(value) !== index)
}
