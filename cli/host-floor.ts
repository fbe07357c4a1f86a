import type { Floor } from '../policy/decision/index.ts'
import { hostFloorPath, installedFloor } from '../runner/facts/host-floor.ts'
import { CliError } from './failure.ts'

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
