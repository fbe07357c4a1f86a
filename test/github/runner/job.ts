import { randomUUID } from 'node:crypto'
import type { World } from '../world.ts'
import { type ActionFile, inputEnvironment, readAction } from './action.ts'
import { type Shared, type StepWork, withCommandFiles } from './command-files.ts'
import { githubContext, jobEnvironment } from './environment.ts'
import { type Contexts, interpolate } from './expressions.ts'
import { killOrphans } from './orphans.ts'
import { preparePlaces } from './places.ts'
import { runProcess } from './process.ts'
import type { JobAttempt, WorkflowRun } from './state.ts'
import type { RunContext, RunningProcess, StepConclusion, StepResult } from './step.ts'
import type { Step } from './workflow.ts'

/** What a job needs from outside itself. */
export interface JobPorts {
  world: World
  /** Directory of the double; each job attempt makes its own below it. */
  directory: string
  actionDirectory: string
  node: string
  extraEnvironment: { readonly [name: string]: string }
  /** `job.check_run_id` exists (not on GHES). */
  checkRunId: boolean
  token: string
  oidc: { url: string; token: string } | null
  needs: RunContext['needs']
  signal: AbortSignal
  onProcess(process: RunningProcess): void
}

interface Post {
  result: StepResult
  action: ActionFile
  environment: { [name: string]: string }
}

/** Runs the steps of one job attempt in a new workspace and a new RUNNER_TEMP. Returns how it ended; never throws for what a step does. */
export async function runJob(
  run: WorkflowRun,
  job: JobAttempt,
  ports: JobPorts,
): Promise<'success' | 'failure' | 'cancelled'> {
  const { world } = ports
  const places = preparePlaces(world, run, job, ports.directory)
  const trackingId = `github_${randomUUID()}`
  const base: { [name: string]: string } = {
    RUNNER_TRACKING_ID: trackingId,
    ...jobEnvironment(world, run, job, places, ports.oidc),
    ...ports.extraEnvironment,
  }
  const shared: Shared = {
    world,
    temp: places.temp,
    masks: new Set([ports.token, ...(ports.oidc ? [ports.oidc.token] : [])]),
    environment: {},
    path: [],
  }
  const finished: { [id: string]: { outputs: { [name: string]: string }; outcome: StepConclusion } } = {}
  const posts: Post[] = []
  let failed = false

  const contexts = (): Contexts => ({
    github: githubContext(world, run, job, ports.token),
    job: { status: failed ? 'failure' : 'success', container: {}, ...(ports.checkRunId && { check_run_id: job.id }) },
    matrix: job.matrix,
    inputs: run.inputs,
    steps: finished,
    needs: ports.needs,
    env: { ...job.definition.env, ...shared.environment },
    runner: { os: base['RUNNER_OS'], temp: places.temp },
  })

  const usedIds = new Map<string, number>()
  const stepId = (step: Step): string => {
    if (step.id !== undefined) return step.id
    const stem = 'uses' in step ? '__org_agentctl' : '__run'
    const count = (usedIds.get(stem) ?? 0) + 1
    usedIds.set(stem, count)
    return count === 1 ? stem : `${stem}_${count}`
  }

  const environmentOf = (step: Step, id: string): { [name: string]: string } => {
    const declared = { ...job.definition.env, ...step.env }
    const interpolated = Object.entries(declared).map(([key, value]) => [key, interpolate(value, contexts())] as const)
    return {
      ...base,
      ...shared.environment,
      ...Object.fromEntries(interpolated),
      PATH: [...shared.path, base['PATH'] ?? ''].join(':'),
      GITHUB_ACTION: id,
      ...('uses' in step && { GITHUB_ACTION_REPOSITORY: 'org/agentctl', GITHUB_ACTION_REF: 'v1' }),
    }
  }

  const withFiles = (result: StepResult, work: StepWork) => withCommandFiles(result, shared, work)

  const node = async (
    script: string,
    phase: 'main' | 'post',
    result: StepResult,
    environment: { [name: string]: string },
    signal: AbortSignal,
  ) => {
    await withFiles(result, async (files, output) => {
      const listeners: ((text: string) => void)[] = []
      const ended = await runProcess({
        command: ports.node,
        args: [script],
        cwd: places.workspace,
        env: { ...environment, ...files },
        signal,
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
      if (signal.aborted) return 'cancelled'
      return ended.exitCode === 0 ? 'success' : 'failure'
    })
  }

  const perform = async (step: Step, id: string, result: StepResult): Promise<void> => {
    const environment = environmentOf(step, id)
    if ('uses' in step) {
      let action: ActionFile
      try {
        action = readAction(ports.actionDirectory)
        Object.assign(environment, inputEnvironment(action, step.with ?? {}, contexts()))
      } catch (error) {
        result.conclusion = 'failure'
        result.raw = result.log = (error as Error).message
        return
      }
      if (action.post !== null) posts.push({ result, action, environment })
      await node(action.main, 'main', result, environment, ports.signal)
      return
    }
    await withFiles(result, async (_files, output) => {
      try {
        await step.run({
          environment,
          workspace: places.workspace,
          temp: places.temp,
          matrix: job.matrix,
          attempt: job.attempt,
          steps: finished,
          needs: ports.needs,
          signal: ports.signal,
          setOutput: (key, value) => {
            result.outputs = { ...result.outputs, [key]: value }
          },
          log: line => output(`${line}\n`),
        })
        return 'success'
      } catch (error) {
        output(`${String(error)}\n`)
        return ports.signal.aborted ? 'cancelled' : 'failure'
      }
    })
  }

  for (const [number, step] of job.definition.steps.entries()) {
    const id = stepId(step)
    const result = newResult(id, step, number + 1, world.now())
    if (wanted(step.if, failed, ports.signal.aborted)) await perform(step, id, result)
    else result.conclusion = 'skipped'
    job.steps.push(result)
    finished[id] = { outputs: result.outputs, outcome: result.conclusion }
    Object.assign(job.outputs, result.outputs)
    if (result.conclusion === 'failure' && step['continue-on-error'] !== true) failed = true
  }
  // Post steps run in reverse order whatever happened, with the state that main saved; a cancel does not stop them.
  for (const { result, action, environment } of posts.reverse()) {
    const state = Object.fromEntries(Object.entries(result.state).map(([key, value]) => [`STATE_${key}`, value]))
    const before = result.conclusion
    await node(action.post ?? '', 'post', result, { ...environment, ...state }, new AbortController().signal)
    if (before === 'success' && result.conclusion !== 'success') failed = true
  }
  job.orphans = killOrphans(trackingId)
  if (failed) return 'failure'
  return ports.signal.aborted ? 'cancelled' : 'success'
}

function newResult(id: string, step: Step, number: number, now: Date): StepResult {
  return {
    id,
    kind: 'uses' in step ? 'action' : 'script',
    name: step.name ?? ('uses' in step ? 'Run org/agentctl@v1' : 'Run script'),
    number,
    conclusion: 'success',
    exitCode: null,
    signal: null,
    outputs: {},
    state: {},
    summary: '',
    annotations: [],
    log: '',
    raw: '',
    startedAt: now,
    completedAt: now,
  }
}

/** Whether a step or job runs, by its `if` and what came before. */
export function wanted(condition: Step['if'], failed: boolean, cancelled: boolean): boolean {
  if (condition === 'always()') return true
  if (cancelled) return false
  if (condition === '!cancelled()') return true
  return condition === 'failure()' ? failed : !failed
}
