import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withCommandFiles } from './command-files.ts'
import { interpolate } from './expressions.ts'
import { contextsOf, type StepScope } from './scope.ts'
import type { RunContext, StepResult } from './step.ts'
import { stepEnvironment, stepProcess } from './step-process.ts'
import type { ShellStep } from './workflow.ts'

/** A `run:` step as the runner starts it: a file in its temp, given to the shell. */
export async function runShell(
  { run: script, shell }: ShellStep,
  where: StepScope,
  result: StepResult,
  signal: AbortSignal,
): Promise<void> {
  const file = join(where.job.places.temp, `${randomUUID()}.sh`)
  writeFileSync(file, interpolate(script, contextsOf(where)))
  const args = {
    bash: ['--noprofile', '--norc', '-e', '-o', 'pipefail', file],
    sh: ['-e', file],
  }
  // Runtime variables are for actions alone.
  const { ACTIONS_RUNTIME_TOKEN: _, ACTIONS_RUNTIME_URL: __, ACTIONS_RESULTS_URL: ___, ...env } = stepEnvironment(where)
  const chosen = shell ?? 'bash'
  await stepProcess(where, result, {
    command: chosen,
    args: shell === undefined ? ['-e', file] : args[chosen],
    env,
    phase: 'main',
    signal,
  })
}

/** A step in this process. */
export async function runScript(
  run: (context: RunContext) => void | Promise<void>,
  where: StepScope,
  result: StepResult,
  signal: AbortSignal,
): Promise<void> {
  const { job, ports, places, shared } = where.job
  await withCommandFiles(result, shared, async (files, output) => {
    try {
      await run({
        environment: { ...stepEnvironment(where), ...files },
        workspace: places.workspace,
        temp: places.temp,
        matrix: job.matrix,
        strategy: job.strategy,
        inputs: (contextsOf(where)['inputs'] ?? {}) as RunContext['inputs'],
        secrets: (ports.contexts['secrets'] ?? {}) as RunContext['secrets'],
        attempt: job.attempt,
        steps: where.finished,
        needs: (ports.contexts['needs'] ?? {}) as RunContext['needs'],
        signal,
        setOutput: (key, value) => {
          result.outputs = { ...result.outputs, [key]: value }
        },
        log: line => output(`${line}\n`),
      })
      return 'success'
    } catch (error) {
      output(`${String(error)}\n`)
      return 'failure'
    }
  })
}
