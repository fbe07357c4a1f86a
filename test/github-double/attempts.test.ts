import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RunContext, Workflow } from '../github/index.ts'
import { at, plainWorkflow, type Stage, stage } from './world.ts'

// https://docs.github.com/en/actions/how-tos/manage-workflow-runs/re-run-workflows-and-jobs

let scene: Stage
beforeEach(async () => {
  scene = await stage()
})
afterEach(() => scene.github.close())

const begin = (jobs: Workflow['jobs']) => {
  scene.repository.addWorkflow(plainWorkflow(jobs, { permissions: { contents: 'read', 'id-token': 'write' } }))
  return scene.github.startRun(scene.repository, 'plain.yml', { actor: 'bob' })
}
const actions = async () => (await scene.installation()).rest.actions
const message = (request: Promise<unknown>) =>
  request.then(
    () => 'done',
    (error: Error) => error.message.split(' - ')[0],
  )
const failFirst = ({ attempt }: RunContext) => {
  if (attempt === 1) throw new Error('first time')
}

test('a job that is not repeated keeps its outputs, under a new id, for those that are', async () => {
  const got: (string | undefined)[] = []
  const run = begin({
    give: {
      steps: [{ id: 's', run: ({ attempt, setOutput }) => setOutput('value', `of attempt ${attempt}`) }],
      outputs: { value: '${{ steps.s.outputs.value }}' },
    },
    take: {
      needs: ['give'],
      steps: [
        { run: ({ needs }) => void got.push(needs['give']?.outputs['value'], needs['give']?.result) },
        { run: failFirst },
      ],
    },
  })
  await run.completed()
  await (await actions()).reRunWorkflowFailedJobs({ ...at, run_id: run.id })
  await run.completed(2)
  expect(got).toEqual(['of attempt 1', 'success', 'of attempt 1', 'success'])
  const [before, after] = [1, 2].map(number => run.attempt(number).jobs.map(({ id }) => id))
  expect(new Set([...(before ?? []), ...(after ?? [])]).size).toBe(4)
  const { data } = await (await actions()).listJobsForWorkflowRunAttempt({ ...at, run_id: run.id, attempt_number: 2 })
  expect(data.jobs.map(({ id, run_attempt, conclusion }) => [after?.includes(id), run_attempt, conclusion])).toEqual([
    [true, 2, 'success'],
    [true, 2, 'success'],
  ])
  await (await actions()).reRunWorkflow({ ...at, run_id: run.id })
  await run.completed(3)
  expect(got.slice(4)).toEqual(['of attempt 3', 'success'])
})

test('an output that is empty or holds a secret does not leave the job', async () => {
  // actions/runner src/Runner.Worker/JobExtension.cs, "Evaluate and set job outputs".
  scene.repository.secrets = { KEY: 'sesame-open' }
  const run = begin({
    give: {
      outputs: {
        none: '${{ steps.s.outputs.none }}',
        secret: 'x${{ secrets.KEY }}',
        fine: '${{ steps.s.outputs.fine }}',
      },
      steps: [
        {
          id: 's',
          run: ({ setOutput, secrets, log }) => {
            setOutput('fine', 'f')
            log(secrets['KEY'] ?? '')
          },
        },
      ],
    },
  })
  await run.completed()
  expect(run.job().outputs).toEqual({ fine: 'f' })
  expect([run.job().steps[0]?.log, run.job().steps[0]?.raw]).toEqual(['***\n', 'sesame-open\n'])
})

test('claims and variables of an attempt are its own, the actor stays', async () => {
  const seen: unknown[] = []
  const run = begin({
    one: {
      steps: [
        {
          run: async ({ environment: env }) => {
            const answer = await fetch(`${env['ACTIONS_ID_TOKEN_REQUEST_URL']}&audience=x`, {
              headers: { authorization: `Bearer ${env['ACTIONS_ID_TOKEN_REQUEST_TOKEN']}` },
            })
            const { value } = (await answer.json()) as { value: string }
            const claims = JSON.parse(Buffer.from(value.split('.')[1] ?? '', 'base64url').toString())
            seen.push([
              claims.run_attempt,
              claims.check_run_id,
              claims.actor,
              env['GITHUB_RUN_ATTEMPT'],
              env['GITHUB_TRIGGERING_ACTOR'],
              env['GITHUB_ACTOR'],
            ])
          },
        },
      ],
    },
  })
  await run.completed()
  await (await actions()).reRunWorkflow({ ...at, run_id: run.id })
  await run.completed(2)
  expect(seen).toEqual([
    ['1', String(run.attempt(1).jobs[0]?.id), 'bob', '1', 'bob', 'bob'],
    ['2', String(run.attempt(2).jobs[0]?.id), 'bob', '2', 'agentctl-double[bot]', 'bob'],
  ])
})

test('fifty re-runs and not one more, within thirty days and not one more', async () => {
  const run = begin({ one: { checkout: false, steps: [] } })
  await run.completed()
  const alice = scene.github.users.ensure('alice')
  for (let number = 2; number <= 51; number++) {
    scene.github.runs.rerun(run.run, alice)
    await run.completed(number)
  }
  const again = async () => message((await actions()).reRunWorkflow({ ...at, run_id: run.id }))
  expect(await again()).toBe('This workflow run cannot be retried')
  expect(run.run.attempts).toHaveLength(51)
  const young = begin({ one: { checkout: false, steps: [] } })
  await young.completed()
  const day = 24 * 3600 * 1000
  young.run.createdAt = new Date(Date.now() - 29.9 * day)
  await (await actions()).reRunWorkflow({ ...at, run_id: young.id })
  await young.completed(2)
  young.run.createdAt = new Date(Date.now() - 30.1 * day)
  expect(await message((await actions()).reRunWorkflow({ ...at, run_id: young.id }))).toBe(
    'Unable to retry this workflow run because it was created over a month ago',
  )
})

test('a re-run of one job takes those with it that need it, and no other', async () => {
  const ran: string[] = []
  const say = (name: string) => ({ run: ({ attempt }: RunContext) => void ran.push(`${name}${attempt}`) })
  const run = begin({
    a: { steps: [say('a')] },
    b: { needs: ['a'], steps: [say('b')] },
    c: { needs: ['b'], if: 'always()', steps: [say('c')] },
    d: { needs: ['a'], steps: [say('d')] },
  })
  await run.completed()
  await (await actions()).reRunJobForWorkflowRun({ ...at, job_id: run.job('b').id })
  await run.completed(2)
  expect(ran.filter(name => name.endsWith('2'))).toEqual(['b2', 'c2'])
})
