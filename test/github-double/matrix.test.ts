import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Job, RunContext, RunHandle } from '../github/index.ts'
import { combinations, jobName } from '../github/runner/matrix.ts'
import { plainWorkflow, type Stage, stage } from './world.ts'

let scene: Stage
beforeEach(async () => {
  scene = await stage()
})
afterEach(() => scene.github.close())

function start(job: Partial<Job> & Pick<Job, 'steps'>): RunHandle {
  scene.repository.addWorkflow(plainWorkflow({ m: job }))
  return scene.github.startRun(scene.repository, 'plain.yml', { actor: 'alice' })
}
const matrixOf = (matrix: NonNullable<Job['strategy']>['matrix']) => combinations({ matrix })

test('axes in their order', () => {
  // docs.github.com/en/actions/how-tos/write-workflows/choose-what-workflows-do/run-job-variations, first example.
  expect(matrixOf({ version: [10, 12, 14], os: ['ubuntu-latest', 'windows-latest'] })).toEqual([
    { version: 10, os: 'ubuntu-latest' },
    { version: 10, os: 'windows-latest' },
    { version: 12, os: 'ubuntu-latest' },
    { version: 12, os: 'windows-latest' },
    { version: 14, os: 'ubuntu-latest' },
    { version: 14, os: 'windows-latest' },
  ])
})

test('include extends what it does not overwrite, else adds', () => {
  // The same page, "Expanding or adding matrix configurations".
  const include = [
    { color: 'green' },
    { color: 'pink', animal: 'cat' },
    { fruit: 'apple', shape: 'circle' },
    { fruit: 'banana' },
    { fruit: 'banana', animal: 'cat' },
  ]
  expect(matrixOf({ fruit: ['apple', 'pear'], animal: ['cat', 'dog'], include })).toEqual([
    { fruit: 'apple', animal: 'cat', color: 'pink', shape: 'circle' },
    { fruit: 'apple', animal: 'dog', color: 'green', shape: 'circle' },
    { fruit: 'pear', animal: 'cat', color: 'pink' },
    { fruit: 'pear', animal: 'dog', color: 'green' },
    { fruit: 'banana' },
    { fruit: 'banana', animal: 'cat' },
  ])
  expect(matrixOf({ include: [{ site: 'production' }, { site: 'staging' }] })).toEqual([
    { site: 'production' },
    { site: 'staging' },
  ])
})

test('exclude needs a part only, and comes before include', () => {
  // The same page, "Excluding matrix configurations".
  const axes = { os: ['macos', 'windows'], version: [12, 14, 16], environment: ['staging', 'production'] }
  const exclude = [
    { os: 'macos', version: 12, environment: 'production' },
    { os: 'windows', version: 16 },
  ]
  const left = matrixOf({ ...axes, exclude })
  expect(left).toHaveLength(9)
  expect(left).not.toContainEqual({ os: 'windows', version: 16, environment: 'staging' })
  expect(matrixOf({ os: ['a'], exclude: [{ os: 'a' }], include: [{ os: 'a' }] })).toEqual([{ os: 'a' }])
})

test.each([
  // JobDisplayNameBuilder: values in brackets, empty ones left out, cut at 100 characters.
  [undefined, { a: 'x', b: 2, c: true }, 'key (x, 2, true)'],
  ['Build', { a: 'x' }, 'Build (x)'],
  ['Build ${{ matrix.a }}', { a: 'x', b: 'y' }, 'Build x'],
  ['Build', { a: '', b: 'y' }, 'Build (y)'],
  ['Build', { a: '' }, 'Build'],
  [undefined, { a: { os: 'linux', arch: 'arm' } }, 'key (linux, arm)'],
  [undefined, { a: 'x)(, "ö"\n[/]<b> ' }, 'key (x)(, "ö"\n[/]<b> )'],
  [undefined, { a: 'y'.repeat(200) }, `key (${'y'.repeat(92)}...`],
])('the name %j of %j is %j', (name, matrix, expected) => {
  expect(jobName('key', name, matrix, {})).toBe(expected)
})

test('at most max-parallel at once, and the strategy context tells each sibling its place', async () => {
  // docs.github.com/en/actions/reference/contexts-reference#strategy-context
  let running = 0
  let most = 0
  const seen: RunContext['strategy'][] = []
  const run = start({
    strategy: { matrix: { n: [1, 2, 3, 4, 5] }, 'max-parallel': 2, 'fail-fast': false },
    env: { PLACE: '${{ strategy.job-index }} of ${{ strategy.job-total }}' },
    steps: [
      {
        run: async ({ strategy, environment, setOutput }) => {
          most = Math.max(most, ++running)
          seen.push(strategy)
          setOutput('place', environment['PLACE'] ?? '')
          await new Promise(resolve => setImmediate(resolve))
          running--
        },
      },
    ],
  })
  await run.completed()
  expect(most).toBe(2)
  expect(seen.map(one => one['job-index']).sort()).toEqual([0, 1, 2, 3, 4])
  expect(seen[0]).toMatchObject({ 'job-total': 5, 'max-parallel': 2, 'fail-fast': false })
  expect(run.attempt().jobs.map(({ outputs }) => outputs['place'])).toEqual([0, 1, 2, 3, 4].map(n => `${n} of 5`))
})

test('fail-fast cancels siblings that run and that wait; a re-run of one runs that one', async () => {
  const step = {
    run: ({ matrix, attempt, signal }: RunContext) => {
      if (attempt > 1) return
      if (matrix?.['n'] === 1) throw new Error('no')
      return new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
    },
  }
  const run = start({ strategy: { matrix: { n: [1, 2, 3] }, 'max-parallel': 2 }, steps: [step] })
  await run.completed()
  expect(run.attempt().jobs.map(({ conclusion }) => conclusion)).toEqual(['failure', 'cancelled', 'cancelled'])
  expect(run.attempt().jobs.map(({ steps }) => steps.length)).toEqual([1, 1, 0])
  scene.github.runs.rerunJob(run.job('m (2)'), scene.github.users.ensure('alice'))
  await run.completed(2)
  expect(run.attempt(2).jobs.map(({ conclusion, carried }) => [conclusion, carried])).toEqual([
    ['failure', true],
    ['success', false],
    ['cancelled', true],
  ])
  expect(run.attempt(2).conclusion).toBe('failure')
})
