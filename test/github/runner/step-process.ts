import { withCommandFiles } from './command-files.ts'
import { runProcess } from './process.ts'
import type { StepScope } from './scope.ts'
import type { StepResult } from './step.ts'

/** Variables of a step, before inputs and file commands. */
export function stepEnvironment(where: StepScope): { [name: string]: string } {
  const { base, job, shared } = where.job
  return {
    ...base,
    ...job.definition.env,
    ...shared.environment,
    ...where.env,
    PATH: [...shared.path, base['PATH'] ?? ''].join(':'),
    GITHUB_ACTION: where.top ?? '',
    ...(where.action && { GITHUB_ACTION_PATH: where.action.directory }),
  }
}

export interface StepProcess {
  command: string
  args: readonly string[]
  env: { readonly [name: string]: string }
  phase: 'main' | 'post'
  signal: AbortSignal
}

/** Runs one process of a step with its command files; its exit code is the step's. */
export async function stepProcess(where: StepScope, result: StepResult, step: StepProcess): Promise<void> {
  const { job, run, ports, places, shared } = where.job
  const { command, args, env, phase, signal } = step
  await withCommandFiles(result, shared, async (files, output) => {
    const listeners: ((text: string) => void)[] = []
    const ended = await runProcess({
      command,
      args,
      cwd: places.workspace,
      env: { ...env, ...files },
      signal,
      lost: ports.stop.lost,
      survives: ports.survivor,
      started: ({ pid, kill }) =>
        ports.onProcess({
          job: { id: job.id, key: job.key, name: job.name, attempt: job.attempt, run: run.id },
          step: result.id,
          phase,
          pid,
          kill,
          onOutput: listener => void listeners.push(listener),
        }),
      output: text => {
        output(text)
        for (const listener of listeners) listener(text)
      },
    })
    if (phase === 'main') {
      result.exitCode = ended.exitCode
      result.signal = ended.signal
    }
    return ended.exitCode === 0 ? 'success' : 'failure'
  })
}
