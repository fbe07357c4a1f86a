import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkout } from '../git.ts'
import type { World } from '../world.ts'
import { type ActionFile, inputEnvironment, readAction } from './action.ts'
import { commandReader, parseKeyValues } from './commands.ts'
import { githubContext, jobEnvironment } from './environment.ts'
import { type Contexts, interpolate } from './expressions.ts'
import { killOrphans } from './orphans.ts'
import { runProcess } from './process.ts'
import type { JobAttempt, WorkflowRun } from './state.ts'
import type { Annotation, RunContext, RunningProcess, StepConclusion, StepResult } from './step.ts'
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
  const root = join(ports.directory, `job-${job.id}`)
  const name = run.repository.name
  const places = {
    workspace: join(root, '_work', name, name),
    temp: join(root, '_temp'),
    tools: join(root, '_tool'),
    home: join(root, 'home'),
    eventPath: join(root, '_temp', '_github_workflow', 'event.json'),
  }
  for (const directory of [
    places.workspace,
    places.tools,
    places.home,
    join(places.temp, '_github_workflow'),
    join(places.temp, '_runner_file_commands'),
  ]) {
    mkdirSync(directory, { recursive: true })
  }
  writeFileSync(places.eventPath, JSON.stringify(run.payload))
  job.workspace = places.workspace
  job.temp = places.temp
  const commit = run.repository.commits.get(run.headSha) ?? run.headRepository.commits.get(run.headSha)
  if (!commit) throw new Error(`run ${run.id}: commit ${run.headSha} is gone`)
  if (job.definition.checkout !== false) {
    const branch = run.ref.startsWith('refs/heads/') ? run.ref.slice('refs/heads/'.length) : null
    checkout(commit, places.workspace, branch, `${world.serverUrl}/${run.repository.owner.login}/${name}`)
  }

  const trackingId = `github_${randomUUID()}`
  const base: { [name: string]: string } = {
    RUNNER_TRACKING_ID: trackingId,
    ...jobEnvironment(world, run, job, places, ports.oidc),
    ...ports.extraEnvironment,
  }
  const fromFiles: { [name: string]: string } = {}
  const extraPath: string[] = []
  const masks = new Set<string>([ports.token, ...(ports.oidc ? [ports.oidc.token] : [])])
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
    env: { ...job.definition.env, ...fromFiles },
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
      ...fromFiles,
      ...Object.fromEntries(interpolated),
      PATH: [...extraPath, base['PATH'] ?? ''].join(':'),
      GITHUB_ACTION: id,
      ...('uses' in step && { GITHUB_ACTION_REPOSITORY: 'org/agentctl', GITHUB_ACTION_REF: 'v1' }),
    }
  }

  /** Runs `work` with its own set of command files and reads them afterwards. */
  const withFiles = async (
    result: StepResult,
    work: (files: { [name: string]: string }, output: (text: string) => void) => Promise<StepConclusion>,
  ): Promise<void> => {
    const directory = join(places.temp, '_runner_file_commands')
    const key = randomUUID()
    const files = {
      GITHUB_OUTPUT: join(directory, `set_output_${key}`),
      GITHUB_ENV: join(directory, `set_env_${key}`),
      GITHUB_PATH: join(directory, `add_path_${key}`),
      GITHUB_STATE: join(directory, `save_state_${key}`),
      GITHUB_STEP_SUMMARY: join(directory, `step_summary_${key}`),
    }
    for (const file of Object.values(files)) writeFileSync(file, '')
    const annotate = (annotation: Annotation) => result.annotations.push(annotation)
    const read = commandReader({ annotation: annotate, mask: value => void (value !== '' && masks.add(value)) })
    let pending = ''
    const output = (text: string) => {
      result.raw += text
      const lines = (pending + text).split('\n')
      pending = lines.pop() ?? ''
      for (const line of lines) read(line.replace(/\r$/, ''))
    }
    let conclusion = await work(files, output)
    if (pending !== '') read(pending)
    try {
      result.outputs = { ...result.outputs, ...parseKeyValues(readFileSync(files.GITHUB_OUTPUT, 'utf8')) }
      result.state = { ...result.state, ...parseKeyValues(readFileSync(files.GITHUB_STATE, 'utf8')) }
      Object.assign(fromFiles, parseKeyValues(readFileSync(files.GITHUB_ENV, 'utf8')))
      extraPath.unshift(...readFileSync(files.GITHUB_PATH, 'utf8').split('\n').filter(Boolean))
    } catch (error) {
      annotate({ level: 'error', message: `Unable to process file command successfully. ${(error as Error).message}` })
      conclusion = 'failure'
    }
    const summary = readFileSync(files.GITHUB_STEP_SUMMARY, 'utf8')
    if (Buffer.byteLength(summary) <= 1024 * 1024) result.summary += summary
    else {
      const message = `$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of 1024k, got ${Math.ceil(summary.length / 1024)}k.`
      annotate({ level: 'error', message })
    }
    if (result.conclusion === 'success') result.conclusion = conclusion
    result.log = [...masks]
      .sort((a, b) => b.length - a.length)
      .reduce((text, mask) => text.replaceAll(mask, '***'), result.raw)
    result.completedAt = world.now()
    world.changed()
  }

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
    const now = world.now()
    const result: StepResult = {
      id,
      kind: 'uses' in step ? 'action' : 'script',
      name: step.name ?? ('uses' in step ? 'Run org/agentctl@v1' : 'Run script'),
      number: number + 1,
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

export function wanted(condition: Step['if'], failed: boolean, cancelled: boolean): boolean {
  if (condition === 'always()') return true
  if (cancelled) return false
  if (condition === '!cancelled()') return true
  return condition === 'failure()' ? failed : !failed
}
