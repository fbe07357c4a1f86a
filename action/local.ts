import { mkdirSync } from 'node:fs'
import { openEmbedded } from '../ledger/index.ts'
import { approvalSettings } from '../policy/decision/index.ts'
import { readCommit, startRun } from '../runner/index.ts'
import type { ActionContext } from './context.ts'
import { loadDocument } from './document.ts'
import { ActionError, exits, textOf } from './failure.ts'
import { checkRepository, effectiveFloor, type HostFloor, readInputFloor } from './floor.ts'
import { requestedSettings } from './inputs.ts'
import { ledgerFile, ledgerFolder } from './ledger-file.ts'
import { type Outcome, statusOf } from './outcome.ts'
import { planOf, portsFor } from './prepare.ts'

/**
 * Runs without a control plane: the ledger is a file under the runner's temp, which ends with the job. A pause opens no
 * issue and cannot be resumed; the outcome says so.
 */
export async function runLocal(context: ActionContext, hostFloor: HostFloor): Promise<Outcome> {
  const { inputs, job, clock, ids } = context
  const loaded = loadDocument(inputs, job.checkout)
  const floor = effectiveFloor(null, readInputFloor(job.checkout, inputs.floor), hostFloor)
  const settings = approvalSettings(floor, requestedSettings(inputs))
  if (!settings.ok) throw new ActionError('invalid_input', settings.message)
  const plan = await planOf(context, loaded, floor)
  checkRepository(floor, plan, job)

  const run = ids.uuid()
  makeFolder(job.temp)
  const file = ledgerFile(job.temp)
  const ledger = openEmbedded({ file, clock, ids })
  context.state.begin(loaded.path, null)
  context.state.hold(run)
  try {
    const ended = await startRun(portsFor(context, loaded, ledger, { effective: floor, host: hostFloor }, file), {
      run,
      epoch: 1,
      plan,
      document: loaded.path,
      commit: readCommit(loaded.workspace, job.sha),
      settings: settings.settings,
      resumeWith: inputs['resume-with'],
      parent: null,
    })
    return {
      ...ended,
      status: statusOf(ended.state),
      concluded: ended.state !== 'running',
      planDigest: plan.planDigest,
      issue: null,
      auditUrl: '',
      messages: ended.pause === null ? ended.messages : [...ended.messages, withoutControlPlane],
    }
  } finally {
    await ledger.close()
  }
}

function makeFolder(temp: string): void {
  const folder = ledgerFolder(temp)
  try {
    mkdirSync(folder)
  } catch (error) {
    // An earlier step of this job made it.
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return
    throw new ActionError('read_only', `the ledger's folder ${folder} cannot be made: ${textOf(error)}`, {
      exitCode: exits.persistence,
      help: 'give the runner a RUNNER_TEMP that it may write, with space left',
    })
  }
}

const withoutControlPlane =
  'No control-plane-url is set: no approval issue was opened, and this pause cannot outlive the job. Set control-plane-url to let people decide.'
