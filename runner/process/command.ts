import type { PlanCommand } from '../../policy/document/plan.ts'
import { type ExecutionRequest, ExecutorError } from '../executor.ts'

/** The command of a process action. Throws ExecutorError. */
export function commandOf({ task }: ExecutionRequest): PlanCommand {
  const { process: command, isolation, name } = task.action
  if (command === null)
    throw new ExecutorError('invalid_plan', `action ${name} of the plan has no command; start a new run`)
  if (isolation === 'cell')
    throw new ExecutorError(
      'unsupported_capability',
      `action ${name}: isolation ${isolation} is not available on this runner; it is never replaced by a weaker one`,
    )
  return command
}

/** The kernel's own bounds, told by name before anything is requested. */
const maxArgumentBytes = 131_071
const maxArgumentsBytes = 2_000_000

/** Throws ExecutorError for arguments that no process could be given. */
export function checkArguments({ command, args, env }: PlanCommand): void {
  checkEnvironmentNames(Object.keys(env))
  const sizes = [command, ...args].map(arg => Buffer.byteLength(arg) + 9)
  if (args.some(arg => arg.includes('\0')))
    throw new ExecutorError(
      'invalid_input',
      `an argument of ${command} holds a NUL byte, which no process can be given; remove it`,
    )
  if (sizes.some(size => size > maxArgumentBytes) || sizes.reduce((sum, size) => sum + size, 0) > maxArgumentsBytes)
    throw new ExecutorError(
      'argv_too_long',
      `the arguments of ${command} are longer than the system allows (128 KiB each, 2 MB together); pass a file instead`,
    )
}

/**
 * Throws ExecutorError for variables that the system would take for one: it is not known which value a process would get.
 */
export function checkEnvironmentNames(names: readonly string[], platform: NodeJS.Platform = process.platform): void {
  if (platform !== 'win32') return
  const seen = new Map<string, string>()
  for (const name of names) {
    const twin = seen.get(name.toUpperCase())
    if (twin !== undefined)
      throw new ExecutorError(
        'invalid_input',
        `env sets \`${twin}\` and \`${name}\`, which are one variable on Windows; leave one out`,
      )
    seen.set(name.toUpperCase(), name)
  }
}

/** The task's time bounds the action's. */
export function timeoutOf({ task }: ExecutionRequest, command: PlanCommand): number {
  return Math.min(command.timeoutSeconds, task.timeoutSeconds)
}

/** Every bound by field name, as an approval shows it. */
export function limitsOf(request: ExecutionRequest, command: PlanCommand): { [name: string]: number } {
  const { container } = request.task.action
  return {
    timeoutSeconds: timeoutOf(request, command),
    stdoutLimitBytes: command.stdoutLimitBytes,
    stderrLimitBytes: command.stderrLimitBytes,
    combinedOutputLimitBytes: command.combinedOutputLimitBytes,
    ...(container !== undefined && {
      memoryLimitBytes: container.memoryLimitBytes,
      cpuLimitMillis: container.cpuLimitMillis,
      pidsLimit: container.pidsLimit,
    }),
  }
}
