import type { ActionContext } from './context.ts'
import { DocumentError } from './document.ts'
import { describeFailure, exits, textOf } from './failure.ts'
import { type HostFloor, readHostFloor } from './floor.ts'
import { type Inputs, readInputs } from './inputs.ts'
import { readJob } from './job.ts'
import { faultOutcome, type Outcome, processExit } from './outcome.ts'
import { writeOutputs } from './outputs.ts'
import { preflight } from './preflight.ts'
import { annotate } from './prepare.ts'
import { writeSummary } from './summary.ts'

/** What the entry hands in; inputs and job are read from it. */
export type ActionBase = Omit<ActionContext, 'inputs' | 'job'>

/** The whole step: answers the process's exit code once outputs, summary and annotations are written. Never throws. */
export async function runAction(base: ActionBase, read: (name: string) => string): Promise<number> {
  const { progress, guard, log, state } = base
  let inputs: Inputs | null = null
  let host: HostFloor = { state: 'none' }
  let outcome: Outcome
  try {
    inputs = readInputs(read)
    host = readHostFloor(inputs.container)
    outcome = await perform({ ...base, inputs, job: readJob(base.environment) }, host)
  } catch (thrown) {
    outcome = failed(base, thrown)
  }
  progress.close()
  const shown = {
    ...outcome,
    messages: outcome.messages.map(text => guard.text(text)),
    outputs: guard.json(outcome.outputs),
  }
  conclude(base, shown, inputs)
  const isTold = toldOutputs(base, shown)
  const waiting = new Set(outcome.pause?.items.map(item => item.task))
  const tasks = progress.tasks().map(task => (waiting.has(task.task) ? { ...task, state: 'waiting' } : task))
  const facts = guard.record({
    document: read('workflow'),
    tasks,
    approvals: progress.approvals(),
    hostFloor: host.state,
  })
  if (inputs?.summary !== false)
    await writeSummary(shown, facts).catch(() => log.line('the job summary could not be written'))
  if (outcome.concluded) state.conclude()
  const exitCode = processExit(outcome, inputs?.['on-pause'] ?? 'fail')
  return exitCode === 0 && !isTold ? exits.persistence : exitCode
}

/** Later steps decide by the outputs: where they cannot be written, no end is green. */
function toldOutputs({ log, annotations }: ActionBase, outcome: Outcome): boolean {
  try {
    log.command(() => writeOutputs(outcome))
    return true
  } catch (error) {
    const message = `the outputs could not be written to GITHUB_OUTPUT: ${textOf(error)}. The run itself is as recorded; check the runner's disk, then re-run the job`
    annotations.add({ level: 'error', title: 'outputs_not_written', message })
    return false
  }
}

/** Either way of running is loaded when it is known which one it is: the other's ledger costs no time to start. */
async function perform(context: ActionContext, host: HostFloor): Promise<Outcome> {
  const { inputs, job, guard } = context
  guard.learn([inputs['github-token'], job.oidc?.token])
  preflight(inputs, job)
  const origin = inputs['control-plane-url']
  if (origin === null || job.oidc === null) return (await import('./local.ts')).runLocal(context, host)
  return (await import('./attached.ts')).runAttached(context, { ...job.oidc, audience: origin }, host)
}

function failed(base: ActionBase, thrown: unknown): Outcome {
  const { run, hasBegun } = base.state
  if (base.signal.aborted)
    return { ...faultOutcome('cancelled', exits.cancelled, ['Cancelled.']), run, concluded: !hasBegun }
  if (thrown instanceof DocumentError) annotate(base, thrown.diagnostics)
  const { exitCode, message, help, code } = describeFailure(thrown)
  const status = exitCode === exits.denied ? 'denied' : 'failed'
  const messages = [`${code}: ${message}${help === '' ? '' : `. To do: ${help}`}`]
  return { ...faultOutcome(status, exitCode, messages), run, concluded: run === null }
}

/**
 * The last word of a step whose end has not come within its time after a cancel: whatever it waits for is left to the
 * post step. A status that says more than is known would be worse than none.
 */
export function leaveOverdue({ progress, state, log }: ActionBase): void {
  progress.close()
  const message = 'Cancelled: the end could not be recorded in time; the post step sees to it.'
  const status = state.run === null ? 'cancelled' : 'uncertain'
  log.line(message)
  try {
    const outcome = { ...faultOutcome(status, exits.cancelled, [message]), run: state.run }
    log.command(() => writeOutputs(outcome))
  } catch {
    // A disk that takes nothing more: the exit code says as much.
  }
}

/** Tells the messages; at least one annotation says why a step is not green, or green without an approval. */
function conclude({ annotations, log }: ActionBase, outcome: Outcome, inputs: Inputs | null): void {
  const { status, messages, issue } = outcome
  const isFault = status !== 'succeeded' && status !== 'paused' && annotations.errors === 0
  for (const message of messages)
    if (isFault) annotations.add({ level: 'error', title: status, message })
    else log.line(message)
  if (isFault && messages.length === 0) annotations.add({ level: 'error', message: `the run ended ${status}` })
  if (status !== 'paused') return
  const where = issue === null ? '' : `: decide in ${issue.url}`
  annotations.add({ level: 'notice', title: 'waiting for approval', message: `This run waits for people${where}` })
  if (inputs?.['on-pause'] === 'succeed')
    annotations.add({
      level: 'warning',
      message: 'on-pause is succeed: this check is green though nothing was approved',
    })
}
