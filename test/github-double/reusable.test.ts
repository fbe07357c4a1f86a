import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CallJob, Job, RunContext, RunHandle, Workflow } from '../github/index.ts'
import { at, plainWorkflow, type Stage, stage } from './world.ts'

// https://docs.github.com/en/actions/how-tos/reuse-automations/reuse-workflows and /actions/reference/reusable-workflows-reference

let scene: Stage
beforeEach(async () => {
  scene = await stage()
})
afterEach(() => scene.github.close())

const path = (name: string) => `.github/workflows/${name}.yml`
const call = (name: string, more: Partial<CallJob> = {}): CallJob => ({ uses: `./${path(name)}`, steps: [], ...more })
const reusable = (name: string, jobs: Workflow['jobs'], more: Partial<Workflow> = {}): Workflow =>
  plainWorkflow(jobs, { name, path: path(name), on: ['workflow_call'], ...more })

function start(jobs: Workflow['jobs'], called: Workflow[], more: Partial<Workflow> = {}): RunHandle {
  for (const workflow of called) scene.repository.addWorkflow(workflow)
  scene.repository.addWorkflow(plainWorkflow(jobs, more))
  return scene.github.startRun(scene.repository, 'plain.yml', { actor: 'alice' })
}
const names = (run: RunHandle) => run.attempt().jobs.map(({ name }) => name)
const say = (said: string[], word: string): Job => ({ checkout: false, steps: [{ run: () => void said.push(word) }] })

test('a workflow called twice in one run: own names, ids, inputs; claims name both files', async () => {
  const seen: { [name: string]: unknown } = {}
  const tell = async ({ environment: env, inputs }: RunContext) => {
    const headers = { authorization: `Bearer ${env['ACTIONS_ID_TOKEN_REQUEST_TOKEN']}` }
    const answer = await fetch(`${env['ACTIONS_ID_TOKEN_REQUEST_URL']}&audience=x`, { headers })
    const { value } = (await answer.json()) as { value: string }
    const claims = JSON.parse(Buffer.from(value.split('.')[1] ?? '', 'base64url').toString())
    seen[String(inputs['part'])] = [
      inputs,
      env['GITHUB_JOB'],
      env['GITHUB_WORKFLOW'],
      claims.workflow_ref,
      claims.job_workflow_ref,
      claims.check_run_id,
    ]
  }
  const inputs = {
    part: { type: 'string', required: true },
    loud: { type: 'boolean' },
    times: { type: 'number', default: 2 },
  } as const
  const permissions = { contents: 'read', 'id-token': 'write' } as const
  const run = start(
    {
      first: call('part', { with: { part: 'a', loud: true } }),
      second: call('part', { with: { part: '${{ github.ref_name }}' } }),
    },
    [reusable('part', { work: { steps: [{ run: tell }] } }, { call: { inputs } })],
    { permissions },
  )
  await run.completed()
  expect(names(run)).toEqual(['first / work', 'second / work'])
  const [one, two] = run.attempt().jobs
  const refs = [
    'plain',
    'acme/shop/.github/workflows/plain.yml@refs/heads/main',
    'acme/shop/.github/workflows/part.yml@refs/heads/main',
  ]
  expect(seen).toEqual({
    a: [{ part: 'a', loud: true, times: 2 }, 'work', ...refs, String(one?.id)],
    main: [{ part: 'main', loud: false, times: 2 }, 'work', ...refs, String(two?.id)],
  })
  const { data } = await (await scene.installation()).rest.actions.getWorkflowRun({ ...at, run_id: run.id })
  expect(data.referenced_workflows).toEqual([
    { path: 'acme/shop/.github/workflows/part.yml@refs/heads/main', sha: run.run.sha, ref: 'refs/heads/main' },
  ])
})

test('four levels connect, names and keys add up; a fifth is refused', async () => {
  const said: string[] = []
  const levels = [
    reusable('two', { b: call('three') }),
    reusable('three', { c: call('four') }),
    reusable('four', { d: say(said, 'deep') }),
  ]
  const run = start({ a: call('two') }, levels)
  await run.completed()
  expect([said, names(run), run.attempt().conclusion]).toEqual([['deep'], ['a / b / c / d'], 'success'])
  expect(() =>
    start({ a: call('two') }, [reusable('four', { d: call('five') }), reusable('five', { e: say(said, 'no') })]),
  ).toThrow(/level 5/)
})

test('needs go through calls: outputs come out, a failure inside skips what needs the call, a skipped call skips its jobs', async () => {
  const got: unknown[] = []
  const give: Job = {
    steps: [{ id: 's', run: ({ setOutput }) => setOutput('v', 'deep') }],
    outputs: { v: '${{ steps.s.outputs.v }}' },
  }
  const outputs = { value: { value: '${{ jobs.give.outputs.v }}' } }
  const fail: Job = {
    steps: [
      {
        run: () => {
          throw new Error('no')
        },
      },
    ],
  }
  const run = start(
    {
      outer: call('outer'),
      take: { needs: ['outer'], steps: [{ run: ({ needs }) => void got.push(needs['outer']) }] },
      bad: call('bad'),
      after: { needs: ['bad'], steps: [] },
      sad: { needs: ['bad'], if: 'failure()', steps: [] },
      off: call('bad', { if: 'false' }),
    },
    [
      reusable(
        'outer',
        { inner: call('inner') },
        { call: { outputs: { value: { value: '${{ jobs.inner.outputs.value }}' } } } },
      ),
      reusable('inner', { give }, { call: { outputs } }),
      reusable('bad', { first: fail, second: { needs: ['first'], steps: [] } }),
    ],
  )
  await run.completed()
  expect(got).toEqual([{ result: 'success', outputs: { value: 'deep' } }])
  expect(Object.fromEntries(run.attempt().jobs.map(({ name, conclusion }) => [name, conclusion]))).toEqual({
    'outer / inner / give': 'success',
    take: 'success',
    'bad / first': 'failure',
    'bad / second': 'skipped',
    after: 'skipped',
    sad: 'success',
    'off / first': 'skipped',
    'off / second': 'skipped',
  })
})

test('secrets go in by name or by inherit, one level at a time', async () => {
  scene.repository.secrets = { KEY: 'opensesame', OTHER: 'elsewhere' }
  const seen: { [name: string]: unknown } = {}
  const tell = (name: string): Job => ({
    steps: [{ run: ({ secrets }) => void Object.assign(seen, { [name]: secrets }) }],
  })
  const run = start(
    {
      none: call('none'),
      named: call('named', { secrets: { TOKEN: '${{ secrets.KEY }}' } }),
      all: call('all', { secrets: 'inherit' }),
    },
    [
      reusable('none', { n: tell('none') }),
      reusable(
        'named',
        { n: tell('named'), deeper: call('none') },
        { call: { secrets: { TOKEN: { required: true } } } },
      ),
      reusable('all', { n: tell('all') }),
    ],
  )
  await run.completed()
  expect(seen).toEqual({ none: {}, named: { TOKEN: 'opensesame' }, all: { KEY: 'opensesame', OTHER: 'elsewhere' } })
})

test('a matrix of calls, and a matrix within a call', async () => {
  const run = start({ c: call('m', { strategy: { matrix: { os: ['x', 'y'] } }, with: { os: '${{ matrix.os }}' } }) }, [
    reusable(
      'm',
      {
        w: {
          strategy: { matrix: { n: [1, 2] } },
          steps: [{ run: ({ inputs, matrix, setOutput }) => setOutput('is', `${inputs['os']}${matrix?.['n']}`) }],
        },
      },
      { call: { inputs: { os: { type: 'string' } } } },
    ),
  ])
  await run.completed()
  expect(run.attempt().jobs.map(({ name, outputs }) => [name, outputs['is']])).toEqual([
    ['c (x) / w (1)', 'x1'],
    ['c (x) / w (2)', 'x2'],
    ['c (y) / w (1)', 'y1'],
    ['c (y) / w (2)', 'y2'],
  ])
})

test('permissions only go down, the rest is refused before any job runs', async () => {
  // Words of actions/runner issue 4151.
  const asks = reusable('asks', { w: { permissions: { issues: 'write' }, steps: [] } })
  expect(() => start({ c: call('asks') }, [asks], { permissions: { issues: 'read' } })).toThrow(
    "The nested job 'w' is requesting 'issues: write', but is only allowed 'issues: read'.",
  )
  const seen: (string | undefined)[] = []
  const run = start(
    {
      c: call('keeps', { permissions: { 'id-token': 'write', contents: 'read' } }),
      d: call('drops', { permissions: { 'id-token': 'write' } }),
    },
    [
      reusable('keeps', {
        w: { steps: [{ run: ({ environment }) => void seen.push(environment['ACTIONS_ID_TOKEN_REQUEST_URL']) }] },
      }),
      reusable('drops', {
        w: {
          permissions: {},
          steps: [{ run: ({ environment }) => void seen.push(environment['ACTIONS_ID_TOKEN_REQUEST_URL']) }],
        },
      }),
    ],
  )
  await run.completed()
  expect(seen.filter(Boolean)).toHaveLength(1)
})

test.each([
  ['no such file', { c: call('gone') }, [], /workflow was not found/],
  [
    'not reusable',
    { c: call('solo') },
    [plainWorkflow({}, { path: path('solo') })],
    /missing a `on.workflow_call` trigger/,
  ],
  [
    'an input that is not declared',
    { c: call('one', { with: { x: 1 } }) },
    [reusable('one', {})],
    /x is not defined in the referenced workflow/,
  ],
  [
    'an input that is missing',
    { c: call('one') },
    [reusable('one', {}, { call: { inputs: { x: { type: 'string', required: true } } } })],
    /Input x is required/,
  ],
  [
    'a secret that is missing',
    { c: call('one') },
    [reusable('one', {}, { call: { secrets: { S: { required: true } } } })],
    /Secret S is required/,
  ],
] as const)('refused at start: %s', (_, jobs, called, words) => {
  expect(() => start(jobs, [...called])).toThrow(words)
})

test('a re-run of one called job runs that job, and what needs its call', async () => {
  const ran: string[] = []
  const note = (name: string): Job => ({ steps: [{ run: ({ attempt }) => void ran.push(`${name}${attempt}`) }] })
  const run = start({ c: call('m'), d: call('m'), after: { needs: ['c'], ...note('after') } }, [
    reusable('m', { w: note('w'), v: note('v') }),
  ])
  await run.completed()
  await (await scene.installation()).rest.actions.reRunJobForWorkflowRun({ ...at, job_id: run.job('c / w').id })
  await run.completed(2)
  expect(ran.filter(name => name.endsWith('2'))).toEqual(['w2', 'after2'])
  expect(
    run
      .attempt(2)
      .jobs.filter(({ carried }) => !carried)
      .map(({ name }) => name),
  ).toEqual(['c / w', 'after'])
})
