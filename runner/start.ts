import type { CommandOf } from '../ledger/commands.ts'
import { LedgerError } from '../ledger/port.ts'
import type { Json } from '../policy/json.ts'
import { drive } from './drive.ts'
import { hostFloorRecord } from './facts/host-floor.ts'
import { UnknownFact } from './facts/unknown.ts'
import type { Draft } from './journal.ts'
import { endLeftovers } from './leftovers.ts'
import { openRun } from './open-run.ts'
import { persistenceOutcome } from './outcome.ts'
import type { NewRun, RunnerPorts, RunOutcome } from './run.ts'
import { environmentRedactor } from './secrets/environment.ts'
import { inputsWithSecrets } from './secrets.ts'

/**
 * Runs a plan from its first task. The run exists once its first batch is acknowledged. What a run can come to is its
 * outcome: a ledger that cannot be written ends as `running` with exit code 5 and messages that say what to do.
 */
export async function startRun(ports: RunnerPorts, run: NewRun): Promise<RunOutcome> {
  const opened = { ...run, expiresAfterSeconds: run.settings.expiresAfterSeconds }
  let context: ReturnType<typeof openRun>
  try {
    context = openRun(ports, opened)
  } catch (error) {
    if (!(error instanceof UnknownFact)) throw error
    return refused(run, environmentRedactor(run.plan, ports.environment).text(error.message))
  }
  const { secrets } = context.host
  const telling = inputsWithSecrets(run.plan, secrets)
  if (telling.length > 0)
    return refused(
      run,
      `secret_in_input: ${telling.map(name => secrets.redactor.text(name)).join(', ')} of the inputs holds the value of a secret, which would be recorded with the plan; have the action read it by {env: NAME}`,
    )
  try {
    context.carry.push(await creation(context.journal, run, ports))
  } catch (error) {
    if (error instanceof LedgerError) return persistenceOutcome(context, error)
    throw error
  }
  await endLeftovers(context)
  return drive(context)
}

/** Nothing was recorded: the run does not exist. */
function refused({ run }: NewRun, message: string): RunOutcome {
  return { run, state: 'failed', exitCode: 2, outputs: null, pause: null, messages: [message], head: '' }
}

/** Travels with the first boundary. */
async function creation(
  journal: { payload(value: Json): Promise<CommandOf<'run.create'>['plan']> },
  run: NewRun,
  { hostFloor, hostFloorReadable }: RunnerPorts,
): Promise<Extract<Draft, { type: 'run.create' }>> {
  const { plan } = run
  return {
    type: 'run.create',
    workflowName: plan.workflowName,
    document: run.document,
    workflowDigest: plan.workflowDigest,
    planDigest: plan.planDigest,
    floorDigest: plan.floorDigest,
    hostFloor: hostFloorRecord(hostFloor ?? null, hostFloorReadable),
    plan: await journal.payload(plan as unknown as Json),
    commit: run.commit,
    parent: run.parent?.run ?? null,
    tasks: plan.order.map(id => {
      const task = plan.tasks[id]
      return { id, needs: task?.needs ?? [], failure: task?.failure ?? 'stop' }
    }),
    memory: plan.memory,
    settings: run.settings,
    resumeWith: run.resumeWith,
  }
}
