import { z } from 'zod'
import type { Instance } from '../../../ledger/commands.ts'
import type { OutboxRow } from '../../../ledger/index.ts'
import type { RunRecord } from '../../../ledger/port.ts'
import { chooseRedispatch, code, type RedispatchChoice } from '../../../policy/approval/index.ts'
import type { Failure, Result } from '../../github/index.ts'
import type { RepositoryContext } from '../../repository/context.ts'
import { inMs } from '../backoff.ts'
import { done, failed, failedCall, type Outcome, wait } from '../outbox/outcome.ts'
import { statusRow } from '../rows.ts'
import { dispatchInput, redispatchFacts, waitingRows } from './facts.ts'

/** What was asked of GitHub: from then on the row waits for that attempt to take the lease. */
const startedSchema = z.object({
  workflowRun: z.int().nullable(),
  attempt: z.int(),
  by: z.enum(['rerun_job', 'rerun_failed_jobs', 'workflow_dispatch']),
})
type Started = z.infer<typeof startedSchema>

/** A lost `workflow_run` delivery delays by this much. */
const lookAgainMs = 10 * 60_000
const startTries = 3

/**
 * Makes a resolved run go on. The row is done when the resumed instance has taken the lease (the ledger sees to that), or
 * when the run is over; until then it waits, and an attempt that ended without taking the lease is tried again.
 */
export async function redispatch(context: RepositoryContext, row: OutboxRow): Promise<Outcome> {
  const record = row.run === null ? null : context.store.record(row.run)
  if (record === null || record.state !== 'paused' || record.instance === null) return done()
  const started = startedSchema.safeParse(row.payload['started'])
  return started.success ? watch(context, record, row, started.data) : start(context, record, record.instance, row)
}

async function start(
  context: RepositoryContext,
  record: RunRecord,
  instance: Instance,
  row: OutboxRow,
): Promise<Outcome> {
  const facts = await redispatchFacts(context, record, instance, row)
  if (!facts.ok) return failedCall(facts)
  const choice = chooseRedispatch(facts.value)
  if (isOver(context, record)) return done()
  switch (choice.kind) {
    case 'wait': {
      const note = `${code(choice.job)} still runs. ${choice.reason}.`
      noteOn(context, record, row, note)
      return wait(inMs(context.clock, lookAgainMs), { note })
    }
    case 'nothing': {
      const note = `${choice.reason}. By hand: ${choice.remedy}.`
      noteOn(context, record, row, note)
      return done({ note, nothing: choice.code })
    }
    default:
      return ask(context, record, instance, row, choice, facts.value.workflowRun.attempt)
  }
}

type Doing = Exclude<RedispatchChoice, { kind: 'wait' | 'nothing' }>

async function ask(
  context: RepositoryContext,
  record: RunRecord,
  instance: Instance,
  row: OutboxRow,
  choice: Doing,
  attempt: number,
): Promise<Outcome> {
  // Written before the call: after a crash in between, the watch finds out what became of it.
  const rows = choice.kind === 'rerun_failed_jobs' ? waitingRows(context, instance.workflowRunId) : [row]
  const started: Started = {
    workflowRun: choice.kind === 'workflow_dispatch' ? null : instance.workflowRunId,
    attempt: choice.kind === 'workflow_dispatch' ? 1 : attempt + 1,
    by: choice.kind,
  }
  const soon = inMs(context.clock, lookAgainMs)
  for (const { id } of rows) context.store.deferOutbox(id, soon, { started, note: choice.warning })
  const answer = await call(context, record, instance, choice)
  if (answer.ok) {
    const dispatched =
      answer.value === null ? {} : { dispatchedRun: answer.value, started: { ...started, workflowRun: answer.value } }
    for (const other of rows) {
      noteOn(context, record, other, choice.warning)
      if (other.id !== row.id) context.store.deferOutbox(other.id, soon, dispatched)
    }
    return wait(soon, dispatched)
  }
  if (answer.code === 'unreachable' || answer.code === 'unavailable') {
    // It may have been done all the same: look before asking again.
    return wait(inMs(context.clock, 15_000))
  }
  for (const { id } of rows) context.store.deferOutbox(id, soon, { started: null, note: null })
  return refusedBy(context, answer)
}

function call(
  { github }: RepositoryContext,
  record: RunRecord,
  instance: Instance,
  choice: Doing,
): Promise<Result<number | null>> {
  switch (choice.kind) {
    case 'rerun_job':
      return github.rerunJob(choice.jobId)
    case 'rerun_failed_jobs':
      return github.rerunFailed(choice.workflowRunId)
    case 'workflow_dispatch':
      return github
        .dispatch(workflowFile(instance), choice.ref.replace(/^refs\/(heads|tags)\//, ''), {
          [dispatchInput]: record.run,
        })
        .then(answer => (answer.ok ? { ok: true, value: answer.value.run } : answer))
  }
}

/** GitHub refused: running already is only early; what cannot be retried is final, and the fallback is asked next. */
function refusedBy(context: RepositoryContext, answer: Failure): Outcome {
  if (answer.status === 403 && /already running|is running/i.test(answer.message)) {
    return wait(inMs(context.clock, lookAgainMs), { note: 'the workflow run is still running' })
  }
  if (answer.status === 403 && /cannot be retried|unable to retry|too old|retention/i.test(answer.message)) {
    return wait(inMs(context.clock, 0), { rerunRefused: answer.message })
  }
  return failedCall(answer)
}

/** Looks what became of the attempt that was asked for. */
async function watch(
  context: RepositoryContext,
  record: RunRecord,
  row: OutboxRow,
  started: Started,
): Promise<Outcome> {
  const { github, clock } = context
  if (started.workflowRun === null) return unknownDispatch(context, row)
  const run = await github.workflowRun(started.workflowRun)
  if (!run.ok) return failedCall(run)
  if (isOver(context, record)) return done()
  const hasBegun = run.value.attempt >= started.attempt
  if (hasBegun && run.value.status !== 'completed') return wait(inMs(clock, lookAgainMs))
  // Outages count as attempts too, but not as tries; a row that a person puts back starts anew.
  const tries = (row.attempts === 0 ? 0 : Number(row.payload['tries'] ?? 0)) + 1
  const error = hasBegun
    ? `attempt ${run.value.attempt} of workflow run ${run.value.id} ended (${run.value.conclusion ?? 'no conclusion'}) without resuming`
    : `workflow run ${run.value.id} was not re-run though GitHub was asked to`
  noteOn(context, record, row, error)
  return failed(error, { started: null, tries, note: error }, tries < startTries ? Number.POSITIVE_INFINITY : 0)
}

/** A server that does not say which run a dispatch started: nobody may take the lease by it, so people are told. */
function unknownDispatch(context: RepositoryContext, row: OutboxRow): Outcome {
  const note =
    'the dispatched workflow run is not known: this server does not say which run a dispatch starts; re-run the paused job by hand'
  if (row.run !== null) noteOn(context, { run: row.run }, row, note)
  return done({ note, nothing: 'dispatch_unknown' })
}

function isOver({ store }: RepositoryContext, { run }: RunRecord): boolean {
  return store.record(run)?.state !== 'paused'
}

/** The status comment shall say it, where it is something new to say. */
function noteOn(context: RepositoryContext, record: { run: string }, row: OutboxRow, note: string): void {
  if (note === '' || row.payload['note'] === note) return
  const run = row.run ?? record.run
  const pause = context.store.record(run)?.pause ?? context.store.pauses(run).at(-1)?.pause
  if (pause !== undefined) context.store.addOutbox(statusRow({ run, pause }, `note-${context.ids.uuid()}`))
}

/** `release.yml` of `owner/name/.github/workflows/release.yml@refs/heads/main`. */
function workflowFile({ workflowRef }: Instance): string {
  return (workflowRef.split('@')[0] ?? '').split('/').at(-1) ?? ''
}
