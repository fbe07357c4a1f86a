import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import type { CallJob, Issue, Job, StepResult, Workflow } from '../github/index.ts'
import { documentPath } from '../harness/scene.ts'
import { counted, openStage, type Play, type Stage } from './stage.ts'

/** Who is paused (04) where agentctl stands inside something else: a composite action, a called workflow, an odd matrix. */
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

/** Writes what its input says, once a person has agreed. */
const spec: JsonObject = {
  inputs: { part: '' },
  policy: { writableRoots: ['out'], approval: 'mutations' },
  outputs: { part: '${{ inputs.part }}' },
  actions: { write: { kind: 'builtin.write' } },
  tasks: [{ id: 'gated', uses: 'action:write', with: { path: 'out/part.txt', content: 'part ${{ inputs.part }}' } }],
}
const permissions = { contents: 'read', 'id-token': 'write', issues: 'write' } as const
const inputOf = (part: string) => JSON.stringify({ part })
const url = () => stage.scene.controlPlane.url

/** agentctl as a step of YAML files; `part` may be a template. */
const uses = (part: string, more: object = {}) => ({
  uses: 'org/agentctl@v1',
  with: { workflow: documentPath, 'control-plane-url': url(), inputs: inputOf(part) },
  ...more,
})

async function issueOf(play: Play, step: StepResult): Promise<Issue> {
  const run = step.outputs['run-id'] ?? 'none'
  return stage.scene.github.until(() => play.issues().find(({ body }) => body.includes(run)))
}

/** `.github/actions/gate`: agentctl with what its own input says, its outputs handed on. */
const composite = (steps: object[]) => ({
  '.github/actions/gate/action.yml': JSON.stringify({
    name: 'gate',
    inputs: { part: { required: true } },
    outputs: {
      status: { value: '${{ steps.ask.outputs.status }}' },
      run: { value: '${{ steps.ask.outputs.run-id }}' },
      code: { value: '${{ steps.ask.outputs.exit-code }}' },
    },
    runs: { using: 'composite', steps },
  }),
})

test('inside a composite action it pauses, is approved and resumes; outputs come out of the action', async () => {
  const gate = (part: string, id: string) => ({ id, uses: './.github/actions/gate', with: { part }, if: 'always()' })
  const play = await stage.begin({
    spec,
    files: composite([
      { id: 'ask', ...uses('${{ inputs.part }}') },
      { shell: 'bash', run: 'cp out/part.txt "out/$GITHUB_ACTION.txt"' },
    ]),
    workflow: workflow => ({ ...workflow, jobs: { gate: { steps: [gate('a', 'first'), gate('b', 'second')] } } }),
  })
  const steps = () => play.handle.job().steps
  expect(steps().map(({ outputs }) => [outputs['status'], outputs['code']])).toEqual([
    ['paused', '3'],
    ['paused', '3'],
  ])
  const runs = steps().map(({ outputs }) => outputs['run'])
  expect(new Set(runs).size).toBe(2)
  for (const [index, part] of ['a', 'b'].entries()) {
    const nested = steps()[index]?.nested[0]
    if (nested === undefined) throw new Error('nothing nested')
    await play.decide('/approve', await issueOf(play, nested))
    expect(steps()[index]).toMatchObject({ conclusion: 'success', outputs: { status: 'succeeded', run: runs[index] } })
    expect(play.file(`out/${index === 0 ? 'first' : 'second'}.txt`)).toBe(`part ${part}`)
  }
  for (const run of runs)
    expect(counted(await play.events(run))).toMatchObject({ 'run.paused': 1, 'effect.started': 1 })
})

test('a reusable workflow called twice: each call pauses, is approved and resumes as its own instance', async () => {
  const part: Workflow = {
    name: 'part',
    path: '.github/workflows/part.yml',
    on: ['workflow_call'],
    call: {
      inputs: { part: { type: 'string', required: true } },
      outputs: { status: { value: '${{ jobs.ask.outputs.status }}' } },
    },
    jobs: { ask: { steps: [{ ...uses('${{ inputs.part }}') }] } },
  }
  const call = (name: string): CallJob => ({ uses: './.github/workflows/part.yml', with: { part: name }, steps: [] })
  const told: unknown[] = []
  const after: Job = {
    needs: ['one'],
    if: 'always()',
    steps: [{ run: ({ needs }) => void told.push(needs['one']?.outputs['status']) }],
  }
  const play = await stage.begin({
    spec,
    workflow: workflow => ({ ...workflow, permissions, jobs: { one: call('a'), two: call('b'), after } }),
    called: [part],
  })
  const names = ['one / ask', 'two / ask'] as const
  expect(names.map(name => play.step(name).outputs['status'])).toEqual(['paused', 'paused'])
  const runs = names.map(name => play.step(name).outputs['run-id'])
  expect(new Set(runs).size).toBe(2)
  // The second first: it is the one that resumes.
  await play.decide('/approve', await issueOf(play, play.step('two / ask')))
  expect(names.map(name => play.step(name).outputs['status'])).toEqual(['paused', 'succeeded'])
  expect(
    play.handle
      .attempt()
      .jobs.filter(({ carried }) => !carried)
      .map(({ name }) => name),
  ).toEqual(['two / ask'])
  await play.decide('/approve', await issueOf(play, play.step('one / ask')))
  expect(names.map(name => play.step(name).outputs['run-id'])).toEqual(runs)
  expect(names.map(name => play.file('out/part.txt', name))).toEqual(['part a', 'part b'])
  expect(told.at(-1)).toBe('succeeded')
  const { body } = await play.ask('/runs')
  const jobs = (body['items'] as { instance: { job: string; workflowRef: string } }[]).map(({ instance }) => instance)
  expect(jobs.map(({ job }) => job).sort()).toEqual([...names])
  // The instance is of the workflow that the event started, not of the file that was called.
  for (const { workflowRef } of jobs) expect(workflowRef).toContain('/.github/workflows/gate.yml@')
})

/** A matrix over `part`, the name of the job as given. */
const matrixOf =
  (parts: readonly string[], name?: string) =>
  (workflow: Workflow): Workflow => ({
    ...workflow,
    jobs: {
      gate: {
        ...(name !== undefined && { name }),
        strategy: { matrix: { part: parts }, 'fail-fast': false, 'max-parallel': 1 },
        steps: [{ ...uses('x'), with: { ...uses('x').with, inputs: '{"part": ${{ toJSON(matrix.part) }}}' } }],
      },
    },
  })

/** What is left of Markdown when its fences and code spans, which show everything as it is, are taken out. */
const outsideCode = (body: string): string =>
  body.replaceAll(/^(`{3,})[^\n]*\n[\s\S]*?^\1$/gm, '').replaceAll(/(`+)[^\n]*?[^`]\1(?!`)/g, '')

test('names with odd characters tell matrix siblings apart and break nothing that people read', async () => {
  const parts = [
    '<img src=x>',
    '`a` | b](http://x)',
    '@everyone #1',
    'ünï\u202egnp',
    "x'); DROP --",
    '${{ secrets.KEY }}',
    '../..',
    '%0A::error::no',
  ]
  const play = await stage.begin({ spec, workflow: matrixOf(parts) })
  const jobs = () => play.handle.attempt().jobs
  expect(jobs().map(({ steps }) => steps[0]?.outputs['status'])).toEqual(parts.map(() => 'paused'))
  const runs = jobs().map(({ steps }) => steps[0]?.outputs['run-id'])
  expect(new Set(runs).size).toBe(parts.length)
  await play.issue(parts.length)
  for (const { body } of play.issues()) {
    expect(outsideCode(body)).not.toMatch(/<img|@everyone/)
    expect(body).not.toContain('\u202e')
  }
  // The fifth of them is approved and resumes as itself.
  const chosen = jobs()[4]
  const step = chosen?.steps[0]
  if (step === undefined) throw new Error('no step')
  await play.decide('/approve', await issueOf(play, step))
  expect(jobs().map(({ steps }) => steps[0]?.outputs['status'])).toEqual(
    parts.map((_, i) => (i === 4 ? 'succeeded' : 'paused')),
  )
  expect(jobs()[4]?.steps[0]?.outputs['outputs']).toBe(inputOf(parts[4] ?? ''))
  const statuses = play.repository.record.statuses.map(({ context }) => context)
  expect(statuses.every(context => context.startsWith('agentctl/') && context.length <= 255)).toBe(true)
})

test.each([
  ['by their own choice', ['a', 'b'], 'Build ${{ github.ref_name }}'],
  ['cut at 100 characters', [`${'y'.repeat(120)}a`, `${'y'.repeat(120)}b`], undefined],
])('siblings of one name, %s, never take each other’s run', async (_, parts, name) => {
  const play = await stage.begin({ spec, workflow: matrixOf(parts, name) })
  const jobs = () => play.handle.attempt().jobs
  expect(new Set(jobs().map(job => job.name)).size).toBe(1)
  const step = (index: number) => jobs()[index]?.steps[0] as StepResult
  const runs = [0, 1].map(index => step(index).outputs['run-id'])
  expect(new Set(runs).size).toBe(2)
  await play.decide('/approve', await issueOf(play, step(0)))
  // The first went on; the second still asks, and never says that it has done anything.
  expect([0, 1].map(index => step(index).outputs['status'])).toEqual(['succeeded', 'paused'])
  expect([0, 1].map(index => step(index).outputs['run-id'])).toEqual(runs)
  await play.decide('/approve', await issueOf(play, step(1)))
  expect([0, 1].map(index => step(index).outputs['outputs'])).toEqual(parts.map(inputOf))
})

test('two nested steps of one composite action, one document: the second is refused, never answered with the first’s result', async () => {
  // GITHUB_ACTION of both is their parent's (actions/runner pull 615): nothing tells them apart.
  const free: JsonObject = { ...spec, policy: { writableRoots: ['out'], approval: 'never' } }
  const play = await stage.begin({
    spec: free,
    files: composite([
      { id: 'ask', ...uses('a') },
      { id: 'other', ...uses('b') },
    ]),
    workflow: workflow => ({
      ...workflow,
      jobs: { gate: { steps: [{ uses: './.github/actions/gate', with: { part: 'x' } }] } },
    }),
  })
  const [first, second] = play.handle.job().steps[0]?.nested ?? []
  expect(first).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded', outputs: inputOf('a') } })
  expect(second?.outputs['outputs']).not.toBe(inputOf('a'))
  expect(second).toMatchObject({ exitCode: 5, conclusion: 'failure' })
  expect(second?.log).toMatch(/another step of this job/)
  expect(play.handle.attempt().conclusion).toBe('failure')
  // A re-run finds the first step's run again, and the second is refused again.
  await play.again()
  const again = play.handle.job().steps[0]?.nested ?? []
  expect(again.map(({ exitCode }) => exitCode)).toEqual([0, 5])
})
