import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import type { Issue, Workflow } from '../github/index.ts'
import { documentPath } from '../harness/scene.ts'
import { counted, documentOf, gatedWrite, openStage, type Play, type Stage } from './stage.ts'

/** Who is paused (04): every matrix sibling, step and document has a run of its own and resumes with that one. */
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

const rerunJob = 'POST /repos/{owner}/{repo}/actions/jobs/{job_id}/rerun'
const rerunFailed = 'POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs'
const parts = ['a', 'b', 'c'] as const
const nameOf = (part: string) => `gate (${part})`

/** Each sibling writes what its own input says. */
const spec: JsonObject = {
  inputs: { part: '' },
  policy: { writableRoots: ['out'], approval: 'mutations' },
  outputs: { part: '${{ inputs.part }}' },
  actions: { write: { kind: 'builtin.write' } },
  tasks: [{ id: 'gated', uses: 'action:write', with: { path: 'out/part.txt', content: '${{ inputs.part }}' } }],
}

const inThree = (workflow: Workflow): Workflow => {
  const job = workflow.jobs['gate']
  const [step] = job?.steps ?? []
  if (step === undefined || !('uses' in step)) throw new Error('no step')
  const inputs = '{"part": "${{ matrix.part }}"}'
  return {
    ...workflow,
    jobs: {
      gate: {
        strategy: { matrix: { part: parts }, 'fail-fast': false },
        steps: [{ ...step, with: { ...step.with, inputs } }],
      },
    },
  }
}

const calls = (play: Play, route: string) =>
  stage.scene.github.requests
    .of(route)
    .filter(({ path, status }) => path.includes(`/${play.repository.fullName}/`) && status === 201)

async function issueOf(play: Play, run: string | undefined): Promise<Issue> {
  await play.issue(parts.length)
  const issue = play.issues().find(({ body }) => body.includes(run ?? 'none'))
  if (issue === undefined) throw new Error(`no issue names run ${run}`)
  return issue
}

const runsOf = (play: Play) => parts.map(part => play.step(nameOf(part)).outputs['run-id'])

test('three jobs pause: three issues; each approval resumes its own job, with its own run and files', async () => {
  const play = await stage.begin({ spec, workflow: inThree })
  const runs = runsOf(play)
  expect(new Set(runs).size).toBe(3)
  expect(play.issues()).toHaveLength(3)

  // Another order than they were opened in.
  for (const [decided, part] of [...parts.entries()].reverse()) {
    const before = play.handle.attempt()
    const paused = before.jobs.find(({ name }) => name === nameOf(part))
    await play.decide('/approve', await issueOf(play, runs[decided]))
    const attempt = play.handle.attempt()
    const ran = attempt.jobs.filter(({ carried }) => !carried)
    expect(ran.map(({ name }) => name)).toEqual([nameOf(part)])
    expect(ran[0]?.id).not.toBe(paused?.id)
    // While others still wait, their jobs are left alone: the re-run names the paused job.
    if (decided > 0) expect(calls(play, rerunJob).at(-1)?.path).toMatch(new RegExp(`/jobs/${paused?.id}/rerun$`))
    expect(play.step(nameOf(part))).toMatchObject({
      exitCode: 0,
      outputs: { status: 'succeeded', 'run-id': runs[decided], outputs: JSON.stringify({ part }) },
    })
    expect(play.file('out/part.txt', nameOf(part))).toBe(part)
  }
  // The last one was the only failed job left: either way of asking is one call, and no job ran a second time.
  expect(calls(play, rerunJob).length + calls(play, rerunFailed).length).toBe(3)
  expect(play.handle.run.attempts).toHaveLength(4)
  expect(play.handle.attempt().conclusion).toBe('success')
  for (const run of runs)
    expect(counted(await play.events(run))).toMatchObject({
      'run.paused': 1,
      'approval.resolved': 1,
      'effect.started': 1,
    })
})

test('three decided together: one rerun-failed-jobs, each job takes its own run', async () => {
  const { github } = stage.scene
  const play = await stage.begin({ spec, workflow: inThree })
  const runs = runsOf(play)
  const issues = await Promise.all(runs.map(run => issueOf(play, run)))
  // All decisions are there before anything is asked of Actions.
  await stage.scene.controlPlane.down()
  github.deliveries.hold()
  for (const issue of issues) play.say(issue, 'bob', '/approve')
  await stage.scene.controlPlane.start()
  await github.deliveries.release()
  await github.until(() => play.handle.run.attempts.length > 1 && play.handle.attempt().conclusion === 'success')
  expect(calls(play, rerunFailed)).toHaveLength(1)
  expect(calls(play, rerunJob)).toHaveLength(0)
  expect(play.handle.run.attempts).toHaveLength(2)
  for (const [index, part] of parts.entries()) {
    expect(play.step(nameOf(part)).outputs['run-id']).toBe(runs[index])
    expect(play.file('out/part.txt', nameOf(part))).toBe(part)
  }
})

test('one approved, one rejected, one still open: only the approved job runs', async () => {
  const { github } = stage.scene
  const play = await stage.begin({ spec, workflow: inThree })
  const [a, b, c] = await Promise.all(runsOf(play).map(run => issueOf(play, run)))
  if (a === undefined || b === undefined || c === undefined) throw new Error('three issues')
  play.say(b, 'bob', '/reject')
  await github.until(() => b.state === 'closed')
  await play.decide('/approve', a)
  expect(
    play.handle
      .attempt()
      .jobs.filter(({ carried }) => !carried)
      .map(({ name }) => name),
  ).toEqual([nameOf('a')])
  expect(play.step(nameOf('a')).exitCode).toBe(0)
  expect(c.state).toBe('open')
  await play.again()
  expect(parts.map(part => play.step(nameOf(part)).outputs['status'])).toEqual(['succeeded', 'denied', 'paused'])
  expect(parts.map(part => play.step(nameOf(part)).exitCode)).toEqual([0, 3, 3])
  expect(play.issues()).toHaveLength(3)
})

test('two steps of one job, and two documents, are instances of their own', async () => {
  const other = '.agentctl/other.yaml'
  const play = await stage.begin({
    spec: gatedWrite,
    files: {
      [other]: documentOf({
        ...gatedWrite,
        tasks: [{ id: 'gated', uses: 'action:write', with: { path: 'out/other.txt', content: 'other' } }],
      }),
    },
    workflow: workflow => {
      const [step] = workflow.jobs['gate']?.steps ?? []
      if (step === undefined || !('uses' in step)) throw new Error('no step')
      const again = { ...step, id: 'again', if: 'always()' } as const
      const third = { ...again, id: 'third', with: { ...step.with, workflow: other } }
      return { ...workflow, jobs: { gate: { steps: [step, again, third] } } }
    },
  })
  const steps = () => play.handle.job().steps
  const runs = steps().map(({ outputs }) => outputs['run-id'])
  expect(runs).toHaveLength(3)
  expect(new Set(runs).size).toBe(3)
  await play.issue(3)
  const { body } = await play.ask('/runs')
  const recorded = body['items'] as { run: string; instance: { step: string; document: string; job: string } }[]
  const instances = runs.map(run => recorded.find(one => one.run === run)?.instance)
  expect(instances.map(instance => instance?.document)).toEqual([documentPath, documentPath, other])
  expect(new Set(instances.map(instance => instance?.step)).size).toBe(3)

  // The middle one alone is approved: its job runs again, the others find their own pauses as they were.
  const second = play.issues().find(issue => issue.body.includes(runs[1] ?? 'none'))
  await play.decide('/approve', second)
  expect(steps().map(({ outputs }) => outputs['status'])).toEqual(['paused', 'succeeded', 'paused'])
  expect(steps().map(({ outputs }) => outputs['run-id'])).toEqual(runs)
  expect(play.issues()).toHaveLength(3)
})

describe('on GHES, where a job does not know its id', () => {
  let ghes: Stage
  beforeAll(async () => {
    ghes = await openStage({ github: { edition: 'ghes' } })
  })
  afterAll(() => ghes.close())

  test('the matrix tells the siblings apart: all failed jobs run again, only what is approved goes on', async () => {
    const play = await ghes.begin({ spec, workflow: inThree })
    const runs = runsOf(play)
    expect(new Set(runs).size).toBe(3)
    const done: string[] = []
    for (const [index, part] of parts.entries()) {
      await play.decide('/approve', await issueOf(play, runs[index]))
      done.push(part)
      expect(runsOf(play)).toEqual(runs)
      expect(play.file('out/part.txt', nameOf(part))).toBe(part)
      const states = parts.map(one => play.step(nameOf(one)).outputs['status'])
      expect(states).toEqual(parts.map(one => (done.includes(one) ? 'succeeded' : 'paused')))
    }
    expect(play.issues()).toHaveLength(3)
    for (const run of runs)
      expect(counted(await play.events(run))).toMatchObject({ 'run.paused': 1, 'effect.started': 1 })
  })

  test('a failed job that is none of ours is never run again: the issue says what to do by hand', async () => {
    const fail = () => {
      throw new Error('not ours')
    }
    const play = await ghes.begin({
      spec,
      workflow: workflow => {
        const { jobs, ...rest } = inThree(workflow)
        return { ...rest, jobs: { ...jobs, other: { steps: [{ run: fail }] } } }
      },
    })
    const issue = await issueOf(play, runsOf(play)[0])
    play.say(issue, 'bob', '/approve')
    await ghes.scene.github.until(() => issue.comments.some(({ body }) => body.includes('re-run the failed jobs')))
    expect(play.handle.run.attempts).toHaveLength(1)
    await play.again()
    expect(play.step(nameOf('a'))).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
  })
})
