import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Job, type RunHandle, type StartRun, timing } from '../github/index.ts'
import { at, plainWorkflow, type Stage, stage, statusOf } from './world.ts'

/** An action that tells each signal it gets, when, and has a post step. */
const directory = mkdtempSync(join(tmpdir(), 'signal-action-'))
const main = `
const started = Date.now()
const tell = what => console.log(what + ' ' + (Date.now() - started))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {
  tell(signal)
  if (process.env.INPUT_MODE === 'polite') process.exit(0)
})
if (process.env.INPUT_MODE === 'parent') {
  const { spawn } = require('node:child_process')
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore', env: {} })
  tell('child=' + child.pid + ' ')
}
require('node:fs').appendFileSync(process.env.GITHUB_STATE, 'left=behind\\n')
tell('ready')
if (process.env.INPUT_MODE === 'late') setTimeout(() => { tell('still here'); process.exit(0) }, 700)
else setInterval(() => {}, 1000)
`
const usual = { ...timing }
let scene: Stage

beforeAll(() => {
  mkdirSync(join(directory, 'dist'))
  writeFileSync(
    join(directory, 'action.yml'),
    'name: s\ninputs: { mode: {} }\nruns: { using: node24, main: dist/main.js, post: dist/post.js }\n',
  )
  writeFileSync(join(directory, 'dist/main.js'), main)
  writeFileSync(join(directory, 'dist/post.js'), "console.log('post saw ' + process.env.STATE_left)")
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))
beforeEach(async () => {
  Object.assign(timing, { interrupt: 200, terminate: 150, minute: 2_000 })
  scene = await stage({ action: directory })
})
afterEach(async () => {
  await scene.github.close()
  Object.assign(timing, usual)
})

function start(jobs: { [id: string]: Partial<Job> & Pick<Job, 'steps'> }, more: StartRun = {}): RunHandle {
  scene.repository.addWorkflow(plainWorkflow(jobs))
  return scene.github.startRun(scene.repository, 'plain.yml', { actor: 'alice', ...more })
}

/** Acts once the action's main says that it is ready. */
const whenReady = (act: () => void): StartRun => ({
  onProcess: process => process.phase === 'main' && process.onOutput(text => void (text.includes('ready') && act())),
})
const says = (said: string[], word: string) => ({ run: () => void said.push(word) })
const alive = (pid: number) => existsSync(`/proc/${pid}`)

test('the runner’s figures are 7.5 s and 2.5 s', () => {
  // docs.github.com/en/actions/reference/workflow-cancellation-reference, step 4.
  expect(usual).toMatchObject({ interrupt: 7_500, terminate: 2_500, minute: 60_000 })
})

test('SIGINT, SIGTERM, SIGKILL, in that order and time, to the step’s own process; then its post step runs', async () => {
  // actions/runner src/Runner.Sdk/ProcessInvoker.cs: NixKillProcessTree kills the one process.
  const run = start(
    { j: { steps: [{ uses: 'agentctl', with: { mode: 'parent' } }] } },
    whenReady(() => run.cancel()),
  )
  await run.completed()
  const { log, signal, conclusion, annotations } = run.action()
  const [interrupted = 0, terminated = 0] = ['SIGINT', 'SIGTERM'].map(name =>
    Number(new RegExp(`${name} (\\d+)`).exec(log)?.[1]),
  )
  expect(terminated - interrupted).toBeGreaterThanOrEqual(timing.interrupt - 20)
  expect([signal, conclusion, run.attempt().conclusion]).toEqual(['SIGKILL', 'cancelled', 'cancelled'])
  expect(annotations).toContainEqual({ level: 'error', message: 'The operation was canceled.' })
  expect(log).toContain('post saw behind')
  const child = Number(/child=(\d+)/.exec(log)?.[1])
  expect(alive(child)).toBe(true)
  process.kill(child, 'SIGKILL')
})

test('a step that ends well on SIGINT is cancelled all the same', async () => {
  // ProcessInvoker.cs: ThrowIfCancellationRequested after the process has ended.
  const run = start(
    { j: { steps: [{ uses: 'agentctl', with: { mode: 'polite' } }] } },
    whenReady(() => run.cancel()),
  )
  await run.completed()
  expect(run.action()).toMatchObject({ exitCode: 0, signal: null, conclusion: 'cancelled' })
})

test('later steps run where always() or cancelled() says so, and only those', async () => {
  const said: string[] = []
  const run = start(
    {
      j: {
        steps: [
          { uses: 'agentctl', with: { mode: 'polite' } },
          says(said, 'plain'),
          { if: 'failure()', ...says(said, 'failure') },
          { if: '!cancelled()', ...says(said, 'not cancelled') },
          { if: 'always()', ...says(said, 'always') },
          { if: 'cancelled()', ...says(said, 'cancelled') },
          { if: "always() && github.ref == 'refs/heads/other'", ...says(said, 'other') },
        ],
      },
    },
    whenReady(() => run.cancel()),
  )
  await run.completed()
  expect(said).toEqual(['always', 'cancelled'])
})

test('a running always() step is not interrupted by a cancel', async () => {
  // StepsRunner.cs asks the condition again.
  const steps = [{ uses: 'agentctl', if: 'always()', with: { mode: 'late' } }]
  const run = start(
    { j: { steps } },
    whenReady(() => run.cancel()),
  )
  await run.completed()
  expect(run.action()).toMatchObject({
    exitCode: 0,
    conclusion: 'success',
    log: expect.stringMatching(/still here[\s\S]*post saw/),
  })
  expect(run.action().log).not.toContain('SIGINT')
  expect([run.job().conclusion, run.attempt().conclusion]).toEqual(['cancelled', 'cancelled'])
})

test('a forced cancel ends an always() step too, and no post step follows', async () => {
  // https://docs.github.com/en/rest/actions/workflow-runs#force-cancel-a-workflow-run: bypasses always().
  const steps = [{ uses: 'agentctl', if: 'always()', with: { mode: 'polite' } }]
  const run = start(
    { j: { steps } },
    whenReady(() => run.forceCancel()),
  )
  await run.completed()
  expect(run.action().log).toContain('SIGINT')
  expect(run.action().log).not.toContain('post saw')
  expect(run.attempt().conclusion).toBe('cancelled')
})

test('a job with always() starts after the cancel and goes on during it, others do not', async () => {
  // workflow-cancellation-reference, step 1.
  const said: string[] = []
  const run = start(
    {
      first: { steps: [{ uses: 'agentctl', with: { mode: 'polite' } }] },
      after: { needs: ['first'], steps: [says(said, 'after')] },
      clean: {
        needs: ['first'],
        if: 'always()',
        steps: [says(said, 'clean'), { if: 'cancelled()', ...says(said, 'step of it') }],
      },
      told: { needs: ['first'], if: 'cancelled()', steps: [says(said, 'told')] },
      sad: { needs: ['first'], if: 'failure()', steps: [says(said, 'sad')] },
    },
    whenReady(() => run.cancel()),
  )
  await run.completed()
  expect(said.sort()).toEqual(['clean', 'told'])
  expect(Object.fromEntries(run.attempt().jobs.map(({ key, conclusion }) => [key, conclusion]))).toEqual({
    first: 'cancelled',
    after: 'cancelled',
    clean: 'success',
    told: 'success',
    sad: 'cancelled',
  })
})

test('timeout-minutes of a step fails it, of a job cancels it; post steps run', async () => {
  // StepsRunner.cs: Result Failed, "The action has timed out."; the job's as public runs show it.
  const said: string[] = []
  const mode = { mode: 'polite' }
  const run = start({
    step: {
      steps: [
        { uses: 'agentctl', with: mode, 'timeout-minutes': 1 },
        { if: 'failure()', ...says(said, 'failed') },
      ],
    },
    job: {
      'timeout-minutes': 1,
      steps: [
        { uses: 'agentctl', with: mode },
        { if: 'cancelled()', ...says(said, 'cancelled') },
      ],
    },
  })
  await run.completed()
  expect(run.action('step')).toMatchObject({
    conclusion: 'failure',
    annotations: [{ level: 'error', message: 'The action has timed out.' }],
  })
  expect(run.action('job').conclusion).toBe('cancelled')
  expect([run.job('step').conclusion, run.job('job').conclusion]).toEqual(['failure', 'cancelled'])
  expect(run.job('job').annotations).toEqual([
    { level: 'error', message: 'The job has exceeded the maximum execution time of 1m0s' },
  ])
  for (const job of ['step', 'job']) expect(run.action(job).log).toMatch(/SIGINT[\s\S]*post saw behind/)
  expect(said.sort()).toEqual(['cancelled', 'failed'])
})

test('a step whose process is killed (memory) has failed; its post step and failure() steps run', async () => {
  const said: string[] = []
  const run = start(
    {
      j: {
        steps: [
          { uses: 'agentctl', with: { mode: 'polite' } },
          { if: 'failure()', ...says(said, 'failed') },
        ],
      },
    },
    { onProcess: process => process.phase === 'main' && process.onOutput(() => process.kill('SIGKILL')) },
  )
  await run.completed()
  expect(run.action()).toMatchObject({ signal: 'SIGKILL', exitCode: null, conclusion: 'failure' })
  expect(run.action().log).toContain('post saw behind')
  expect([said, run.attempt().conclusion]).toEqual([['failed'], 'failure'])
})

test('a lost machine: the job fails, nothing more of it runs, its token is dead', async () => {
  // actions/runner issue 2040 has the service's words.
  const said: string[] = []
  let token = ''
  const run = start(
    {
      j: {
        env: { TOKEN: '${{ github.token }}' },
        steps: [
          {
            run: ({ environment }) => {
              token = environment['TOKEN'] ?? ''
            },
          },
          { uses: 'agentctl', with: { mode: 'polite' } },
          { if: 'always()', ...says(said, 'always') },
        ],
      },
    },
    whenReady(() => run.loseRunner()),
  )
  await run.completed()
  expect(run.job().conclusion).toBe('failure')
  expect(run.job().annotations[0]?.message).toContain('lost communication with the server')
  expect(run.action().log).not.toContain('post saw')
  expect(said).toEqual([])
  expect(await statusOf(scene.as(token).rest.repos.get(at))).toBe(401)
})

test('a runner that dies alone leaves the step’s process running', async () => {
  let pid = 0
  const run = start(
    { j: { steps: [{ uses: 'agentctl', with: { mode: 'polite' } }] } },
    {
      onProcess: process => {
        pid = process.pid
        process.onOutput(() => run.loseRunner('j', 'runner'))
      },
    },
  )
  await run.completed()
  expect([run.job().conclusion, alive(pid)]).toEqual(['failure', true])
})

test('the first step’s process of every job is the kernel’s first choice when memory runs out', async () => {
  // ProcessInvoker.cs, DecreaseProcessPriority: oom_score_adj 500.
  const run = start({
    j: { steps: [{ id: 'it', run: 'echo "score=$(cat /proc/$$/oom_score_adj)" >> "$GITHUB_OUTPUT"' }] },
  })
  await run.completed()
  expect(run.job().outputs['score']).toBe('500')
})

test('only a running or waiting run can be cancelled, by force or not', async () => {
  const run = start({ j: { steps: [{ run: 'true' }] } })
  await run.completed()
  const { actions } = (await scene.installation()).rest
  const of = { ...at, run_id: run.id }
  expect([await statusOf(actions.cancelWorkflowRun(of)), await statusOf(actions.forceCancelWorkflowRun(of))]).toEqual([
    409, 409,
  ])
})
