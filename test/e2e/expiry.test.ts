import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GitHubDouble, startGitHub } from '../github/index.ts'
import { type AskingRepository, askingRepository } from '../harness/asking.ts'
import { type ControlPlane, startControlPlane } from '../harness/control-plane.ts'

let github: GitHubDouble
let plane: ControlPlane
let count = 0
const place = (): AskingRepository => askingRepository(github, plane, { name: `octo/expiry-${++count}` })

beforeAll(async () => {
  github = await startGitHub()
  plane = await startControlPlane(github)
})
afterAll(async () => {
  await plane.close()
  await github.close()
})

test('case 14: nobody decides in time: expired, never rejected; the issue says so, a late word is told so, a re-run gives 3', async () => {
  const there = place()
  const asked = await there.ask({ expiresInSeconds: 3 })
  expect(await asked.decided()).toEqual(['expired'])
  expect(asked.issue).toMatchObject({ state: 'closed', stateReason: 'not_planned', closedBy: { id: github.app.botId } })
  await github.until(() => asked.replies().join().includes('expired'))
  const late = await asked.say('bob', '/approve')
  await github.until(() => late.reactions.length > 0 && asked.replies().join().includes('recorded as expired'))
  expect(await asked.outcomes()).toEqual(['expired'])
  expect(asked.starts()).toBe(0)
  const events = await asked.events()
  expect(events.filter(({ type }) => type === 'approval.resolved')).toMatchObject([{ data: { outcome: 'expired' } }])
  await github.until(() => there.repository.record.statuses.at(-1)?.state === 'failure')

  const run = github.runs.all.find(one => one.repository.id === there.repository.id)
  if (run === undefined) throw new Error('no run')
  github.runs.rerun(run, github.users.ensure('alice'))
  await github.until(() => there.resumed.length > 0)
  expect(there.resumed).toMatchObject([{ outcome: 'ended', recorded: { state: 'denied', exitCode: 3 } }])
})

test('an item decided before stays decided; the rest expires', async () => {
  const tasks = [
    { id: 'one', failure: 'continue' as const },
    { id: 'two', failure: 'continue' as const },
  ]
  const asked = await place().ask({ tasks, expiresInSeconds: 15 })
  await asked.say('bob', '/approve 1')
  await github.until(() => asked.issue.state === 'closed', 40_000)
  expect(await asked.outcomes()).toEqual(['approved', 'expired'])
})

test('an expiry that passed while the control plane was down is recorded after its start; a word sent late does not count', async () => {
  const asked = await place().ask({ expiresInSeconds: 4 })
  await plane.down()
  await asked.say('bob', '/approve')
  const expiry = Date.now() + 4000
  // The pause's own time must pass: nothing can tell it but the clock.
  await new Promise(done => setTimeout(done, expiry - Date.now()))
  await plane.start()
  const delivery = github.deliveries.of('issue_comment', 'created').at(-1)
  if (delivery === undefined) throw new Error('nothing was delivered')
  await github.deliveries.redeliver(delivery)
  expect(await asked.decided()).toEqual(['expired'])
  expect(asked.starts()).toBe(0)
})
