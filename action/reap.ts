import type { Annotations } from './annotations.ts'
import type { JobLog } from './job-log.ts'

/** A process that was left behind. */
interface Leftover {
  pid: number
  command: string
}

/** What the runner's reaper did. */
export interface Reaped {
  killed: (Leftover & { effect: string | null })[]
  left: Leftover[]
}

/** Says which processes of ended steps were ended now, and which could not be. */
export function tellReaped({ killed, left }: Reaped, log: JobLog, annotations: Annotations): void {
  for (const { pid, command, effect } of killed)
    log.line(
      `ended process ${pid} (${command})${effect === null ? '' : ` of effect ${effect}`}, left behind by its step`,
    )
  for (const { pid, command } of left)
    annotations.add({
      level: 'warning',
      title: 'process left behind',
      message: `process ${pid} (${command}) of an ended step could not be ended: end it on the runner's host`,
    })
}
