import type { JsonObject } from '../../policy/json.ts'
import { type Containment, type ExecutionRequest, ExecutorError } from '../executor.ts'
import { containerBinding } from '../facts/process-binding.ts'
import type { Host } from '../host.ts'
import { commandOf, limitsOf } from '../process/command.ts'
import type { EndedProcess, ProcessTarget } from '../process/target.ts'
import type { Variables } from '../secrets/variables.ts'
import { type ContainerResult, findEngine, refuseDoors, refuseNested, runContainer } from './container.ts'
import { changedPlace, closePlace, containerFact, containerPlace } from './container-fact.ts'

/**
 * A container of the action's image, its engine found and asked, its working directory opened and looked through; the fact
 * alone where something about it is not known. Throws ExecutorError.
 */
export async function containerTarget(
  host: Host,
  request: ExecutionRequest,
  variables: Variables,
): Promise<ProcessTarget | Pick<ProcessTarget, 'facts'>> {
  const command = commandOf(request)
  const { container, name } = request.task.action
  if (container === undefined) throw new ExecutorError('invalid_plan', `action ${name} of the plan has no container`)
  const place = containerPlace(host.workspace, command)
  if ('known' in place) return { facts: { kind: 'container', container: place } }
  try {
    // The engine answers while the directory is looked through.
    const finding = findEngine(container.runtime, container.image, host.environment)
    finding.catch(() => {})
    refuseDoors(place.cwd)
    const found = await finding
    refuseNested(place.cwd, found.engine)
    const fact = containerFact(host.workspace, command, place, found, variables.facts)
    if (!fact.known) {
      closePlace(place)
      return { facts: { kind: 'container', container: fact } }
    }
    const { memoryLimitBytes, cpuLimitMillis, pidsLimit } = container
    return {
      facts: { kind: 'container', container: fact },
      binding: containerBinding(fact),
      expected: {
        kind: 'container',
        command: command.command,
        args: command.args,
        engine: fact.engine,
        image: fact.image,
        cwd: fact.cwd,
        environment: Object.keys(command.env),
        argvFiles: fact.argvFiles,
        limits: limitsOf(request, command),
      },
      changed: () => changedPlace(fact, place),
      start(bounds) {
        const running = runContainer({
          ...bounds,
          ...found,
          command: command.command,
          cwd: place.cwd,
          memoryLimitBytes,
          cpuLimitMillis,
          pidsLimit,
          run: request.run ?? '',
          effect: request.effectId,
        })
        return { wait: running.wait.then(endedOf), kill: reason => running.kill(reason) }
      },
      close: () => closePlace(place),
    }
  } catch (error) {
    closePlace(place)
    throw error
  }
}

function endedOf({ end, captured, controls, exitCode }: ContainerResult): EndedProcess {
  return {
    end,
    captured,
    containment: containmentOf(controls),
    container: { ...controls } as unknown as JsonObject,
    exitCode,
  }
}

/** One that could not be seen gone is held no better than anything that may still run. */
function containmentOf({ removed, container, engine }: ContainerResult['controls']): Containment {
  if (removed) return { containment: 'container', absent: [], left: [] }
  const left = [{ pid: 0, command: `container ${container.slice(0, 12)} on ${engine.kind}` }]
  return { containment: 'best-effort', absent: [], left }
}
