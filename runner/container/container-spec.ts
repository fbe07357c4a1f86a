import type { ContainerProcess } from './container.ts'
import type { ContainerSpec } from './engine.ts'
import { label, ownerLabel } from './labels.ts'
import { ownParent } from './memory-evidence.ts'

/** Number of the containers of this process: names of cgroups. */
let made = 0

/** What the container of a request is made from. */
export function specOf(request: ContainerProcess): ContainerSpec {
  const { engine, image, command, args, cwd, environment, stdin, memoryLimitBytes, cpuLimitMillis, pidsLimit } = request
  made += 1
  return {
    image,
    command,
    args,
    source: cwd.path,
    environment,
    stdin: stdin !== null,
    memoryLimitBytes,
    cpuLimitMillis,
    pidsLimit,
    labels: { [label.run]: request.run, [label.effect]: request.effect, [label.owner]: ownerLabel() },
    cgroupParent: engine.takesCgroupParent ? ownParent(made) : null,
  }
}
