import type { SecretHelperFact } from '../../policy/decision/facts.ts'
import type { SecretReference } from '../../policy/document/plan.ts'
import type { Containment, ProcessEnd } from '../executor.ts'
import { CommandFault } from '../facts/command-fault.ts'
import { changedSince, type ProcessPlace, processFact } from '../facts/process-fact.ts'
import type { Workspace } from '../facts/workspace.ts'
import { runHostProcess } from '../process/host-process.ts'
import { secretText } from './text.ts'

/** A helper process as a document declares it. */
export type Helper = Extract<SecretReference, { process: unknown }>['process']

export interface HelperSurroundings {
  workspace: Workspace
  temporaryDirectories: readonly string[]
  searchPath: readonly string[]
}

/** Finds and opens the program of a helper, nothing of it run. The caller closes `place`. */
export function findHelper(
  { workspace, temporaryDirectories, searchPath }: HelperSurroundings,
  { command, args }: Helper,
): { fact: SecretHelperFact; place: ProcessPlace | null } {
  try {
    const surroundings = { temporaryDirectories, searchPath, environment: {} }
    const { fact, place } = processFact(workspace, { command, args, cwd: '.' }, surroundings)
    return { fact: { helper: command, program: fact }, place }
  } catch (error) {
    if (!(error instanceof CommandFault)) throw error
    const program = { known: false, cause: error.code, detail: error.detail } as const
    return { fact: { helper: command, program }, place: null }
  }
}

/** What a helper gave. Nothing that it printed is ever part of a failure. `containment` is null where it did not start. */
export type HelperAnswer =
  | { ok: true; value: string; containment: Containment | null }
  | { ok: false; code: string; message: string; cancelled: boolean; containment: Containment | null }

/**
 * Runs a helper: the descriptor that was hashed, in the workspace root, with an empty environment and nothing to read. Its
 * stderr is bounded as its stdout is, and read by nobody.
 */
export async function runHelper(
  place: ProcessPlace,
  { command, args, timeoutSeconds, outputLimitBytes }: Helper,
  signal: AbortSignal,
  effect: string,
): Promise<HelperAnswer> {
  const subject = `the secret helper ${JSON.stringify(command)}`
  const fail = (code: string, message: string, containment: Containment | null, cancelled = false): HelperAnswer => ({
    ok: false,
    code,
    message: `${subject} ${message}`,
    cancelled,
    containment,
  })
  const changed = changedSince(place)
  if (changed !== null) return fail(changed.code, `was not run: ${changed.message}`, null)
  const { end, captured, containment } = await runHostProcess({
    executable: place.executable,
    argv0: command,
    args,
    cwd: place.cwd,
    environment: {},
    stdin: null,
    timeoutSeconds,
    limits: { stdout: outputLimitBytes, stderr: outputLimitBytes, combined: 2 * outputLimitBytes },
    onOutput: () => {},
    signal,
    effect,
  }).wait
  const { stdout, stderr } = captured
  stderr.fill(0)
  const fault = faultOfEnd(end)
  const text = secretText(stdout)
  stdout.fill(0)
  if (fault !== null)
    return fail(fault.code, fault.message, end.kind === 'spawn_failed' ? null : containment, fault.cancelled)
  if (!text.ok) return fail(text.cause, `gave a value that ${text.detail}; correct what it prints`, containment)
  return { ok: true, value: text.value, containment }
}

/** Why a helper's end gives no value, null for exit code 0. */
function faultOfEnd(end: ProcessEnd): { code: string; message: string; cancelled?: boolean } | null {
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return null
      return { code: 'secret_helper_failed', message: `exited with code ${end.code}; run it by hand to see why` }
    case 'signalled':
      return { code: 'secret_helper_failed', message: `was ended by ${end.signal}; run it by hand to see why` }
    case 'spawn_failed':
      return { code: 'secret_helper_not_started', message: `could not be started (${end.code}); correct its command` }
    case 'timed_out':
      return {
        code: 'secret_helper_timed_out',
        message: `ran longer than ${end.seconds} s and was ended; raise timeoutSeconds (at most 60), or make it quicker`,
      }
    case 'output_exceeded':
      return {
        code: 'secret_helper_output_exceeded',
        message: `printed more than ${end.limitBytes} bytes (${end.stream}) and was ended; raise outputLimitBytes (at most 65,536), or print the value alone`,
      }
    case 'cancelled':
      return { code: 'cancelled', message: `was ended (${end.reason})`, cancelled: true }
    case 'limit_exceeded':
      return { code: 'secret_helper_failed', message: `reached its ${end.limit} limit of ${end.amount}` }
    case 'lost':
      return { code: 'secret_helper_lost', message: 'ended without an exit code; what it did is not known' }
  }
}
