import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { type Job, type RunningProcess, type ScriptStep, timing, type Workflow } from '../github/index.ts'
import { counted, openStage, type Play, type Stage } from './stage.ts'

/** Jobs that end in the middle of an effect, by the runner's own ways, and what the next attempt makes of it. */
let stage: Stage
let directory: string
const usual = { ...timing }
beforeAll(async () => {
  stage = await openStage()
  directory = mkdtempSync(join(tmpdir(), 'agentctl-ends-'))
})
afterAll(async () => {
  await stage.close()
  Object.assign(timing, usual)
  rmSync(directory, { recursive: true, force: true })
})

let witnesses = 0

/** Says that it began, then works for a minute; leaves a line for each start, its own process and a child of it. */
function slow(): { spec: JsonObject; lines: () => string[]; pids: () => number[] } {
  const file = join(directory, `witness-${++witnesses}`)
  const script = `echo started >> ${file}; sleep 60 & echo $! >> ${file}.pids; echo $$ >> ${file}.pids; wait`
  return {
    spec: {
      policy: { approval: 'never', processAllowlist: ['sh'] },
      actions: { work: { kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', script], timeoutSeconds: 120 } },
      tasks: [{ id: 'work', uses: 'action:work' }],
    },
    lines: () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []),
    pids: () => (existsSync(`${file}.pids`) ? readFileSync(`${file}.pids`, 'utf8').trim().split('\n').map(Number) : []),
  }
}

/** Resolves once it holds; the test's own limit bounds it. */
async function comes(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(done => setTimeout(done, 20))
}

const gone = (pid: number): boolean => {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return true
  }
}
const change =
  (job: Partial<Job>) =>
  (workflow: Workflow): Workflow => ({
    ...workflow,
    jobs: Object.fromEntries(Object.entries(workflow.jobs).map(([key, own]) => [key, { ...own, ...job } as Job])),
  })
const events = (play: Play) => play.events(play.step().outputs['run-id'])

test.each([
  ['the job’s', 'cancelled'],
  ['the step’s', 'failure'],
] as const)(
  'timeout-minutes, %s, is reached while an effect runs: children gone, the end recorded, no orphan',
  async (whose, conclusion) => {
    const work = slow()
    let minuteIsOver = () => {}
    timing.after = (_, act) => {
      minuteIsOver = act
      return () => {}
    }
    const limit = { 'timeout-minutes': 1 }
    const play = await ended(
      work,
      () => minuteIsOver(),
      workflow => {
        const [step] = workflow.jobs['gate']?.steps ?? []
        if (step === undefined) throw new Error('no step')
        return change(whose === 'the job’s' ? limit : { steps: [{ ...step, ...limit }] })(workflow)
      },
    )
    timing.after = usual.after
    expect(play.step(), play.step().log).toMatchObject({
      exitCode: 130,
      signal: null,
      outputs: { status: 'uncertain', 'exit-code': '130' },
    })
    expect(play.handle.job().conclusion).toBe(conclusion)
    expect(work.pids().every(gone)).toBe(true)
    // The runner's own clean-up by RUNNER_TRACKING_ID had nothing to find.
    expect(play.handle.job().orphans).toEqual([])
    expect(counted(await events(play))).toMatchObject({ 'effect.started': 1 })
    // A process that was ended in its middle may have done its work: a re-run says so and starts nothing.
    await play.again()
    expect(play.step(), play.step().log).toMatchObject({ exitCode: 4, outputs: { status: 'uncertain' } })
    expect(work.lines()).toEqual(['started'])
  },
)

/** A play whose first attempt ends as `end` ends it, once the effect has begun. */
async function ended(
  work: ReturnType<typeof slow>,
  end: (process: RunningProcess, play: Play) => void,
  workflow?: (workflow: Workflow) => Workflow,
): Promise<Play> {
  const running = Promise.withResolvers<RunningProcess>()
  const play = await stage.begin({
    spec: work.spec,
    complete: false,
    ...(workflow && { workflow }),
    onProcess: process => process.phase === 'main' && running.resolve(process),
  })
  const process = await running.promise
  await comes(() => work.pids().length === 2 || play.handle.attempt().status === 'completed')
  expect(play.handle.attempt().status, play.handle.job().steps[0]?.log).toBe('in_progress')
  end(process, play)
  await play.handle.completed(1)
  return play
}

test('the machine is lost while an effect runs: the next attempt fences it, and the effect is uncertain, not repeated', async () => {
  const work = slow()
  const play = await ended(work, (_, begun) => begun.handle.loseRunner())
  expect(play.handle.job().conclusion).toBe('failure')
  await play.again()
  expect(play.step()).toMatchObject({ exitCode: 4, outputs: { status: 'uncertain' } })
  expect(play.step().log).toContain('reconcile')
  expect(work.lines()).toEqual(['started'])
  expect(counted(await events(play))).toMatchObject({ 'effect.started': 1 })
  // What the lost attempt had left on this host is found and ended by the next one.
  await comes(() => work.pids().every(gone))
})

test('the runner dies alone and the step lives on: the next attempt takes the run, what lives on can record nothing more', async () => {
  const work = slow()
  let pid = 0
  const play = await ended(work, (process, begun) => {
    pid = process.pid
    begun.handle.loseRunner('gate', 'runner')
  })
  expect(gone(pid)).toBe(false)
  await play.again()
  expect(play.step()).toMatchObject({ exitCode: 4, outputs: { status: 'uncertain' } })
  // SIGTERM, as an operator or the machine's end sends it: it ends its effect and finds that the run is another's.
  process.kill(pid, 'SIGTERM')
  await comes(() => gone(pid) && work.pids().every(gone))
  expect(work.lines()).toEqual(['started'])
  expect(counted(await events(play))).toMatchObject({ 'effect.started': 1 })
  await play.again()
  expect(play.step()).toMatchObject({ exitCode: 4, outputs: { status: 'uncertain' } })
})

test('main is killed (memory): the step has failed, its post step settles, a re-run does not repeat the effect', async () => {
  const work = slow()
  let environments: string[] = []
  const play = await ended(work, process => {
    environments = work.pids().map(pid => readFileSync(`/proc/${pid}/environ`, 'utf8'))
    process.kill('SIGKILL')
  })
  // The runner's own clean-up looks for RUNNER_TRACKING_ID: it cannot see what an effect leaves, the post step must.
  expect(environments).toHaveLength(2)
  for (const environment of environments) expect(environment).not.toContain('RUNNER_TRACKING_ID')
  expect(play.step()).toMatchObject({ signal: 'SIGKILL', conclusion: 'failure' })
  expect(play.handle.job().orphans).toEqual([])
  await comes(() => work.pids().every(gone))
  await play.again()
  expect(play.step()).toMatchObject({ exitCode: 4, outputs: { status: 'uncertain' } })
  expect(work.lines()).toEqual(['started'])
})

test('a cancelled job: 130, children gone before the runner’s SIGTERM, later always() steps see the end', async () => {
  const work = slow()
  let at = 0
  const seen: unknown[] = []
  const tell: ScriptStep['run'] = ({ steps }) => void seen.push(steps['agentctl']?.outputs['status'], Date.now() - at)
  const play = await ended(
    work,
    (_, begun) => {
      at = Date.now()
      begun.handle.cancel()
    },
    workflow => change({ steps: [...(workflow.jobs['gate']?.steps ?? []), { if: 'always()', run: tell }] })(workflow),
  )
  expect(play.step()).toMatchObject({ exitCode: 130, signal: null, conclusion: 'cancelled' })
  expect(work.pids().every(gone)).toBe(true)
  expect(seen[0]).toBe('uncertain')
  expect(Number(seen[1])).toBeLessThan(usual.interrupt)
  expect(play.handle.job().orphans).toEqual([])
})
