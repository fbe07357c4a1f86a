import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Job, type RunHandle, type StepResult, timing } from '../github/index.ts'
import { plainWorkflow, type Stage, stage } from './world.ts'

// actions/runner src/Runner.Worker/Handlers/CompositeActionHandler.cs, docs/adrs/1144-composite-actions.md

/** Stands for agentctl: tells its variables, fails or waits when told so, and has a post step. */
const directory = mkdtempSync(join(tmpdir(), 'nested-action-'))
const main = `
const { appendFileSync } = require('node:fs')
const { INPUT_MODE: mode, GITHUB_ACTION, GITHUB_ACTION_PATH = '', GITHUB_ACTION_REPOSITORY, INPUT_NAME, AROUND = '' } = process.env
appendFileSync(process.env.GITHUB_OUTPUT, 'told=' + [GITHUB_ACTION, GITHUB_ACTION_PATH.split('/').slice(-3).join('/'), GITHUB_ACTION_REPOSITORY, AROUND].join('|') + '\\n')
appendFileSync(process.env.GITHUB_STATE, 'name=' + INPUT_NAME + '\\n')
console.log('main ' + INPUT_NAME)
if (mode === 'fail') process.exitCode = 3
if (mode === 'wait') setInterval(() => {}, 1000)
`
const uses = (name: string, more: object = {}) => ({ uses: 'org/agentctl@v1', with: { name, ...more } })
let scene: Stage

beforeAll(() => {
  mkdirSync(join(directory, 'dist'))
  writeFileSync(
    join(directory, 'action.yml'),
    'name: n\ninputs: { mode: {}, name: {} }\noutputs: { told: {} }\nruns: { using: node24, main: dist/main.js, post: dist/post.js }\n',
  )
  writeFileSync(join(directory, 'dist/main.js'), main)
  writeFileSync(
    join(directory, 'dist/post.js'),
    "console.log('post ' + process.env.STATE_name + ' ' + process.env.INPUT_NAME)",
  )
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))
beforeEach(async () => {
  scene = await stage({ action: directory })
})
afterEach(() => scene.github.close())

/** Runs steps with these composite actions in the workspace. */
async function run(
  actions: { [name: string]: object },
  steps: Job['steps'],
  act?: (run: RunHandle) => void,
): Promise<RunHandle> {
  const files = Object.entries(actions).map(
    ([name, { inputs, outputs, steps: own }]: [string, { inputs?: object; outputs?: object; steps?: object[] }]) => [
      `.github/actions/${name}/action.yml`,
      JSON.stringify({ name, inputs, outputs, runs: { using: 'composite', steps: own } }),
    ],
  )
  scene.repository.commit({ files: Object.fromEntries(files), message: 'Actions' })
  scene.repository.addWorkflow(plainWorkflow({ j: { steps } }))
  const handle = scene.github.startRun(scene.repository, 'plain.yml', {
    actor: 'alice',
    onProcess: process => process.phase === 'main' && process.onOutput(() => act?.(handle)),
  })
  await handle.completed()
  return handle
}
const local = (name: string, more: object = {}) => ({ uses: `./.github/actions/${name}`, ...more })
const told = (step: StepResult | undefined) => step?.outputs['told']

test('nested steps have their parent’s GITHUB_ACTION and path; ids of their own tell their results apart', async () => {
  // actions/runner pull 615: all nested steps match the parent. Generated names: PipelineTemplateConverter.cs.
  const gate = { steps: [uses('one'), uses('two'), { id: 'named', ...uses('three') }] }
  const handle = await run({ gate }, [uses('top'), local('gate'), local('gate'), { id: 'mine', ...local('gate') }])
  const [top, first, second, third] = handle.job().steps
  expect(told(top)).toBe('__org_agentctl||org/agentctl|')
  expect([first, second, third].map(step => step?.id)).toEqual(['__self', '__self_2', 'mine'])
  expect(first?.nested.map(({ id }) => id)).toEqual([
    '__self.__org_agentctl',
    '__self.__org_agentctl_2',
    '__self.named',
  ])
  expect(first?.nested.map(told)).toEqual(Array(3).fill('__self|.github/actions/gate|org/agentctl|'))
  expect(second?.nested.map(told)).toEqual(Array(3).fill('__self_2|.github/actions/gate|org/agentctl|'))
  expect(third?.nested.map(told)).toEqual(Array(3).fill('mine|.github/actions/gate|org/agentctl|'))
})

test('inputs, outputs, env and steps are the action’s own; shell steps see its path', async () => {
  const gate = {
    inputs: { who: { default: 'nobody' }, word: { default: '${{ github.job }}' } },
    outputs: {
      seen: { value: '${{ steps.ask.outputs.told }}' },
      line: { value: '${{ steps.say.outputs.line }}' },
      outer: { value: '${{ steps.before.outputs.x }}' },
    },
    steps: [
      { id: 'ask', ...uses('${{ inputs.who }} ${{ inputs.word }}') },
      {
        id: 'say',
        shell: 'bash',
        env: { WHO: '${{ inputs.who }}' },
        run: 'echo "line=$WHO $AROUND ${GITHUB_ACTION_PATH##*/} ${INPUT_WHO:-none} $GITHUB_ACTION" >> "$GITHUB_OUTPUT"',
      },
    ],
  }
  const handle = await run({ gate }, [
    { id: 'before', run: ({ setOutput }) => setOutput('x', 'outside') },
    { id: 'it', ...local('gate', { with: { who: 'ann' }, env: { AROUND: 'a-${{ github.job }}' } }) },
  ])
  const step = handle.job().steps[1]
  expect(step?.outputs).toEqual({
    seen: 'it|.github/actions/gate|org/agentctl|a-j',
    line: 'ann a-j gate none it',
    outer: '',
  })
  expect([step?.kind, step?.conclusion, step?.log]).toEqual([
    'composite',
    'success',
    expect.stringContaining('main ann j'),
  ])
  expect(handle.action().outputs['told']).toBeDefined()
})

test('post steps of nested actions run in reverse, each with its state and inputs, whole actions in reverse too', async () => {
  const gate = { steps: [uses('a'), uses('b')] }
  const outer = { steps: [local('gate'), uses('c')] }
  const handle = await run({ gate, outer }, [uses('first'), local('outer'), uses('last')])
  const walk = (steps: readonly StepResult[]): StepResult[] => steps.flatMap(step => [step, ...walk(step.nested)])
  const posts = walk(handle.job().steps)
    .filter(({ kind }) => kind === 'action')
    .sort((a, b) => a.completedAt.getTime() - b.completedAt.getTime())
  expect(posts.map(({ log }) => /post (\w+ \w+)/.exec(log)?.[1])).toEqual([
    'last last',
    'c c',
    'b b',
    'a a',
    'first first',
  ])
})

test('a nested failure fails the action; its always() and failure() steps run, posts too, nothing else', async () => {
  const gate = {
    steps: [
      uses('bad', { mode: 'fail' }),
      uses('plain'),
      { if: 'failure()', ...uses('sad') },
      { if: 'always()', ...uses('always') },
      { if: "${{ inputs.none == 'x' }}", ...uses('odd') },
    ],
  }
  const handle = await run({ gate }, [local('gate'), uses('after')])
  const [step, after] = handle.job().steps
  expect(step?.nested.map(({ conclusion }) => conclusion)).toEqual([
    'failure',
    'skipped',
    'success',
    'success',
    'skipped',
  ])
  expect([step?.conclusion, after?.conclusion, handle.attempt().conclusion]).toEqual(['failure', 'skipped', 'failure'])
  expect(step?.log.match(/post \w+/g)?.sort()).toEqual(['post always', 'post bad', 'post sad'])
})

test('continue-on-error of a nested step, and of the whole', async () => {
  const gate = {
    steps: [
      { 'continue-on-error': true, id: 'x', ...uses('bad', { mode: 'fail' }) },
      { if: "steps.x.outcome == 'failure' && steps.x.conclusion == 'success'", ...uses('went on') },
    ],
  }
  const handle = await run({ gate, bad: { steps: [uses('bad', { mode: 'fail' })] } }, [
    local('gate'),
    { 'continue-on-error': true, ...local('bad') },
  ])
  expect(handle.job().steps.map(({ conclusion }) => conclusion)).toEqual(['success', 'success'])
  expect(handle.job().steps[0]?.nested.map(({ conclusion }) => conclusion)).toEqual(['success', 'success'])
  expect(handle.attempt().conclusion).toBe('success')
})

test('a cancel and a timeout reach the nested process; nested always() and posts follow', async () => {
  const usual = { ...timing }
  Object.assign(timing, { interrupt: 200, terminate: 100, minute: 1_500 })
  try {
    const gate = { steps: [uses('slow', { mode: 'wait' }), uses('plain'), { if: 'always()', ...uses('always') }] }
    const cancelled = await run(
      { gate },
      [local('gate')],
      handle => handle.job().steps[0]?.nested.length === 1 && handle.cancel(),
    )
    expect(cancelled.job().steps[0]?.nested.map(({ conclusion }) => conclusion)).toEqual([
      'cancelled',
      'skipped',
      'success',
    ])
    expect([cancelled.job().steps[0]?.conclusion, cancelled.attempt().conclusion]).toEqual(['cancelled', 'cancelled'])
    expect(cancelled.job().steps[0]?.log.match(/post \w+/g)).toEqual(['post slow', 'post always'])
    const late = await run({ gate }, [local('gate', { 'timeout-minutes': 1 })])
    expect(late.job().steps[0]?.nested[0]).toMatchObject({ conclusion: 'failure' })
    expect([late.job().steps[0]?.conclusion, late.attempt().conclusion]).toEqual(['failure', 'failure'])
  } finally {
    Object.assign(timing, usual)
  }
})

test.each([
  ['no such action', {}, local('none'), /Can't find 'action.yml'/],
  ['an unknown repository', {}, { uses: 'who/knows@v1' }, /Unable to resolve action who\/knows@v1/],
  [
    'a shell step without shell',
    { gate: { steps: [{ run: 'true' }] } },
    local('gate'),
    /Required property is missing: shell/,
  ],
])('the step fails: %s', async (_, actions, step, words) => {
  const handle = await run(actions, [step])
  expect(handle.job().steps[0]).toMatchObject({ conclusion: 'failure', log: expect.stringMatching(words) })
})

test('an input that the action does not declare is warned of', async () => {
  // actions/runner src/Runner.Worker/ActionRunner.cs
  const handle = await run({}, [uses('x', { surprise: 1 })])
  expect(handle.action().annotations).toEqual([
    { level: 'warning', message: "Unexpected input(s) 'surprise', valid inputs are ['mode', 'name']" },
  ])
})

test('an action by name from elsewhere', async () => {
  const far = mkdtempSync(join(tmpdir(), 'far-action-'))
  writeFileSync(
    join(far, 'action.yml'),
    JSON.stringify({ name: 'far', runs: { using: 'composite', steps: [uses('far')] } }),
  )
  const other = await stage({ action: directory, actions: { 'acme/far@v2': far } })
  try {
    other.repository.addWorkflow(plainWorkflow({ j: { steps: [{ uses: 'acme/far@v2' }, { uses: 'acme/far@v2' }] } }))
    const handle = other.github.startRun(other.repository, 'plain.yml', { actor: 'alice' })
    await handle.completed()
    expect(handle.job().steps.map(({ id }) => id)).toEqual(['__acme_far', '__acme_far_2'])
    expect(handle.action().outputs['told']).toContain('__acme_far|')
  } finally {
    await other.github.close()
    rmSync(far, { recursive: true })
  }
})
