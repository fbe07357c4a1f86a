import type { RunSnapshot } from '../ledger/port.ts'
import type { Floor } from '../policy/decision/index.ts'
import { hostFloorPath, installedFloor } from '../runner/facts/host-floor.ts'
import { stricterFloor } from '../runner/stricter-floor.ts'
import { CliError, exits } from './failure.ts'

/**
 * The floor that this machine's administrator installed, null where there is none. Throws CliError where it is there but
 * cannot be trusted or read: such a floor is never taken for none.
 */
export function readHostFloor(path = hostFloorPath): Floor | null {
  const installed = installedFloor(path)
  if (installed.state === 'refused')
    throw new CliError(installed.code, installed.message, { help: installed.help, file: path })
  return installed.state === 'installed' ? installed.floor : null
}

/** Refuses to go on with a run under a floor that is stricter than what it was made under. Throws CliError, exit 3. */
export function refuseStricter(snapshot: RunSnapshot, floor: Floor | null): void {
  const violations = stricterFloor(snapshot, floor, null)
  if (violations.length === 0) return
  const what = violations.map(({ message }) => message).join('; ')
  throw new CliError('floor_violation', `run ${snapshot.record.run} cannot go on here: ${what}`, {
    exitCode: exits.denied,
    help: `start a new run under the present floor, or have ${hostFloorPath} changed`,
  })
}
