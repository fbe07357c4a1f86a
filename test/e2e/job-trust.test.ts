import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Issue, RunHandle, Workflow } from '../github/index.ts'
import { documentPath, gateWorkflow, workflowPath } from '../harness/scene.ts'
import { documentOf, gatedWrite, openStage, type Stage } from './stage.ts'

/** Runs that GitHub gives no identity: refused before anything else, with the line to add; that line does what it says. */
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

let count = 0
type Who = 'a fork' | 'Dependabot'

/** A pull request by one of them, and a run of the gate for it with the job's `if` as given. */
async function propose(
  who: Who,
  condition: string | undefined,
  event = 'pull_request',
): Promise<{ run: RunHandle; pull: Issue }> {
  const { github, controlPlane } = stage.scene
  const workflow = gateWorkflow(controlPlane.url)
  const [job] = Object.values(workflow.jobs)
  if (job === undefined) throw new Error('no job')
  const gated: Workflow = {
    ...workflow,
    on: ['pull_request', 'pull_request_target'],
    jobs: { gate: { ...job, ...(condition !== undefined && { if: condition }) } },
  }
  const repository = github.repositories.add({
    name: `trust/app-${++count}`,
    collaborators: { alice: 'maintain', bob: 'write', dave: 'read' },
    workflows: [gated],
    files: { [documentPath]: documentOf(gatedWrite) },
  })
  const user = github.users.ensure(who === 'a fork' ? 'mallory' : 'dependabot[bot]')
  const from = who === 'a fork' ? github.repositories.fork(repository, user) : repository
  const author = { name: user.login, email: 'someone@example.com', user }
  from.commit({ branch: 'topic', files: { 'new.txt': 'x' }, author })
  const pull = repository.pull({ title: 'Change', user, head: 'topic', ...(who === 'a fork' && { from }) })
  const run = github.startRun(repository, workflowPath, { event, actor: user, pull })
  await run.completed()
  return { run, pull }
}

/** The expression of the line that the refusal tells people to add. */
const lineOf = (log: string): string => /`if: ([^`]+)`/.exec(log)?.[1] ?? ''

test.each([
  ['a fork', 'fork_pull_request', 'github.event.pull_request.head.repo.full_name == github.repository'],
  ['Dependabot', 'dependabot', "github.actor != 'dependabot[bot]'"],
] as const)('%s: exit 2 in preflight, the line to add, and with it the job is skipped', async (who, code, line) => {
  const attaches = stage.scene.controlPlane.log().length
  const { run } = await propose(who, undefined)
  const step = run.action()
  expect(step).toMatchObject({ exitCode: 2, outputs: { status: 'failed', 'exit-code': '2', 'run-id': '' } })
  expect(step.log).toContain(code)
  expect(lineOf(step.log)).toBe(line)
  expect(step.summary).toContain('OIDC')
  // Nothing was asked of the control plane, nothing was written.
  expect(stage.scene.controlPlane.log().slice(attaches)).not.toContain('/v1/attach')
  const { run: skipped } = await propose(who, lineOf(step.log))
  expect([skipped.job().conclusion, skipped.attempt().conclusion]).toEqual(['skipped', 'skipped'])
})

test('the line skips nobody else', async () => {
  for (const line of [
    'github.event.pull_request.head.repo.full_name == github.repository',
    "github.actor != 'dependabot[bot]'",
  ]) {
    const { run } = await propose(line.includes('actor') ? 'a fork' : 'Dependabot', line)
    expect(run.job().conclusion).toBe('failure')
    expect(run.action().exitCode).toBe(2)
  }
})

test('a re-run by a maintainer gets no more than the fork had', async () => {
  const { github } = stage.scene
  const { run } = await propose('a fork', undefined)
  github.runs.rerun(run.run, github.users.ensure('alice'))
  await run.completed(2)
  expect(run.action()).toMatchObject({ exitCode: 2, outputs: { status: 'failed' } })
})

test('pull_request_target of a fork: the base’s document asks; who proposed may not decide', async () => {
  const { github } = stage.scene
  const { run, pull } = await propose('a fork', undefined, 'pull_request_target')
  expect(run.action()).toMatchObject({ exitCode: 3, outputs: { status: 'paused' } })
  const repository = github.repositories.byId(run.run.repository.id)
  const issue = await github.until(() => repository?.issues.find(one => one.body.includes('agentctl:pause=')))
  github.comment(issue, github.users.ensure('mallory'), '/approve')
  github.comment(issue, github.users.ensure('bob'), '/approve')
  await github.until(() => run.run.attempts.length === 2)
  await run.completed(2)
  expect(run.action()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
  const voters = issue.comments.filter(({ reactions }) =>
    reactions.some(({ content }) => content === '+1' || content === 'rocket'),
  )
  expect(voters.map(({ user }) => user.login)).not.toContain(pull.user.login)
})
