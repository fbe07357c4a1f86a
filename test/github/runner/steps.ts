import { holds, interpolate } from './expressions.ts'
import { contextsOf, newResult, type StepScope, statusOf } from './scope.ts'
import { runScript, runShell } from './script.ts'
import type { StepResult } from './step.ts'
import { stepSignal } from './step-signal.ts'
import { runUses } from './uses.ts'
import type { ScriptStep, ShellStep, Step } from './workflow.ts'

/** Runs steps in their order, each by its condition; answers their results. A lost runner starts nothing more. */
export async function runSteps(
  steps: readonly Step[],
  where: StepScope,
  begin: (result: StepResult) => void,
): Promise<void> {
  const names = new StepNames(steps)
  for (const [index, step] of steps.entries()) {
    if (where.job.ports.stop.lost.aborted) return
    const id = names.of(step)
    const result = newResult(
      `${where.prefix}${id}`,
      kindOf(step),
      displayName(step),
      index + 1,
      where.job.ports.world.now(),
    )
    begin(result)
    await runStep(step, id, result, where)
    const outcome = result.conclusion
    if (outcome === 'failure' && step['continue-on-error'] === true) result.conclusion = 'success'
    where.finished[id] = { outputs: result.outputs, outcome, conclusion: result.conclusion }
    if (result.conclusion === 'failure') where.failed = true
  }
}

async function runStep(step: Step, id: string, result: StepResult, where: StepScope): Promise<void> {
  const { stop } = where.job.ports
  try {
    if (stop.forced.aborted || !holds(step.if, contextsOf(where), statusOf(where))) {
      result.conclusion = 'skipped'
      return
    }
  } catch (error) {
    return fail(result, (error as Error).message)
  }
  const ends = stepSignal(where, step)
  try {
    const top = where.top ?? id
    const env = Object.fromEntries(
      Object.entries(step.env ?? {}).map(
        ([key, value]) => [key, interpolate(String(value), contextsOf({ ...where, top }))] as const,
      ),
    )
    const here: StepScope = { ...where, top, env: { ...where.env, ...env }, timeout: ends.timeout, posts: where.posts }
    if ('uses' in step) await runUses(step, here, result, ends.signal)
    else if (isShell(step)) await runShell(step, here, result, ends.signal)
    else await runScript(step.run, here, result, ends.signal)
  } catch (error) {
    fail(result, (error as Error).message)
  } finally {
    ends.close()
  }
  if (!ends.signal.aborted) return
  result.conclusion = ends.timedOut() ? 'failure' : 'cancelled'
  const message = ends.timedOut() ? 'The action has timed out.' : 'The operation was canceled.'
  result.annotations.push({ level: 'error', message })
}

function fail(result: StepResult, message: string): void {
  result.conclusion = 'failure'
  result.annotations.push({ level: 'error', message })
  result.raw += message
  result.log += message
}

const isShell = (step: ScriptStep | ShellStep): step is ShellStep => typeof step.run === 'string'

const kindOf = (step: Step): StepResult['kind'] => ('uses' in step ? 'action' : 'script')

const displayName = (step: Step): string =>
  step.name ?? ('uses' in step ? `Run ${step.uses === 'agentctl' ? 'org/agentctl@v1' : step.uses}` : 'Run script')

/**
 * Ids of steps, as actions/runner src/Sdk/DTPipelines/Pipelines/ObjectTemplating/PipelineTemplateConverter.cs makes up those
 * that have none: `__` and the repository, `self` or `run`, with `_2` where a name is taken.
 */
class StepNames {
  readonly #taken: Set<string>

  constructor(steps: readonly Step[]) {
    this.#taken = new Set(steps.flatMap(step => step.id ?? []))
  }

  of(step: Step): string {
    if (step.id !== undefined) return step.id
    const stem = 'uses' in step ? stemOf(step.uses) : '__run'
    for (let count = 1; ; count++) {
      const name = count === 1 ? stem : `${stem}_${count}`
      if (this.#taken.has(name)) continue
      this.#taken.add(name)
      return name
    }
  }
}

function stemOf(uses: string): string {
  if (uses.startsWith('./')) return '__self'
  const repository = uses === 'agentctl' ? 'org/agentctl' : (uses.split('@')[0] ?? '').split('/').slice(0, 2).join('/')
  return `__${repository.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`
}
