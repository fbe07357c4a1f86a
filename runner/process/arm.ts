import { type ArmedHost, type ArmOptions, refusing } from './containment/armed-host.ts'
import { LinuxHost } from './containment/linux-host.ts'
import { otherHost } from './containment/other-host.ts'

let armed: ArmedHost | null = null

/**
 * Makes this process ready to start processes of effects: nobody of the same user can read it, orphans come to it, what it
 * inherited goes no further, what it leaves when it is killed can be found. Done once, before the first process; what could
 * not be had is in `absent`. Options count at the first call only.
 */
export function armProcesses(options: ArmOptions = {}): ArmedHost {
  armed ??= armHost(options)
  return armed
}

/** As `armProcesses`, but another one each time. Throws StartRefused. */
export function armHost(options: ArmOptions = {}): ArmedHost {
  return refusing(() => (process.platform === 'linux' ? new LinuxHost(options) : otherHost()))
}
