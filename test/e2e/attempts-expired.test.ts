import { afterAll, beforeAll, expect, test } from 'vitest'
import { inProcess, MovedClock } from '../harness/in-process.ts'
import { counted, gatedWrite, openStage, type Stage } from './stage.ts'

/** The row `expired` of 04's attempt table: days pass on the clock of GitHub and of the control plane. */
const days = 24 * 3600 * 1000
let stage: Stage
const clock = new MovedClock()
beforeAll(async () => {
  stage = await openStage({ github: { clock }, controlPlane: inProcess(clock) })
})
afterAll(() => stage.close())

test('expired: the issue says so, every further attempt exits 3, nothing is ever written', async () => {
  const play = await stage.begin({ spec: gatedWrite, with: { 'approval-expires': '2d' } })
  const issue = await play.issue()
  clock.advance(2 * days + 60_000)
  await stage.scene.controlPlane.restart()
  await stage.scene.github.until(() => issue.state === 'closed')
  expect(issue.comments.map(({ body }) => body).join()).toContain('expired')

  for (let attempt = 2; attempt <= 3; attempt++) {
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'denied', 'exit-code': '3' } })
    expect(play.step().log).toContain('expired')
  }
  play.say(issue, 'bob', '/approve')
  await stage.scene.github.until(() => issue.comments.at(-1)?.reactions.length)
  expect(play.handle.run.attempts).toHaveLength(3)
  expect(play.issues()).toHaveLength(1)
  expect(play.file('out/approved.txt')).toBeNull()
  const events = await play.events()
  expect(events.find(({ type }) => type === 'approval.resolved')?.data).toMatchObject({ outcome: 'expired' })
  expect(counted(events)).not.toHaveProperty('effect.started')
})
