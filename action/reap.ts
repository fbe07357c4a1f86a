import { type Leftovers, type ReapedContainers, reapContainers, reapLeftovers } from '../runner/index.ts'
import type { Annotations } from './annotations.ts'
import type { JobLog } from './job-log.ts'

/** Ends what killed steps of this host's user left running, and says what that was. */
export async function reap(environment: NodeJS.ProcessEnv, log: JobLog, annotations: Annotations): Promise<void> {
  tellContainers(await reapContainers(environment), log, annotations)
  tellLeftovers(await reapLeftovers(), log, annotations)
}

export function tellContainers({ removed, left }: ReapedContainers, log: JobLog, annotations: Annotations): void {
  for (const { engine, id, effect } of removed)
    log.line(`removed container ${id.slice(0, 12)} of effect ${effect} on ${engine}, left behind by its step`)
  for (const { engine, id, reason } of left)
    annotations.add({
      level: 'warning',
      title: 'container left behind',
      message: `${id === '' ? 'what a step that was killed left' : `container ${id.slice(0, 12)} of a step that was killed`} could not be removed on ${engine}: ${reason}`,
    })
}

export function tellLeftovers({ killed, left }: Leftovers, log: JobLog, annotations: Annotations): void {
  for (const { pid, command, effect } of killed)
    log.line(`ended process ${pid} (${command})${effect === '' ? '' : ` of effect ${effect}`}, left behind by its step`)
  for (const { pid, command } of left)
    annotations.add({
      level: 'warning',
      title: 'process left behind',
      message: `process ${pid} (${command}) of a step that was killed could not be ended: end it on the runner's host`,
    })
}
