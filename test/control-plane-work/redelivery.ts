import { expect } from 'vitest'
import { ownComments, pausedRun, resumeReruns, starts } from './pauses.ts'
import { startWorld } from './world.ts'

/** One approving comment, delivered `count` times at once, half of them under new ids: one resolution, one dispatch. */
export async function redeliver(count: number): Promise<void> {
  const world = await startWorld()
  resumeReruns(world)
  const { github } = world
  const paused = await pausedRun(world)
  github.deliveries.hold()
  github.comment(paused.issue, world.people.alice, '/approve')
  const [delivery] = github.deliveries.of('issue_comment', 'created')
  if (delivery === undefined) throw new Error('nothing to deliver')
  const copies = await Promise.all([
    github.deliveries.redeliver(delivery, { count: count / 2 }),
    github.deliveries.redeliver(delivery, { count: count / 2, newId: true }),
  ])
  await github.deliveries.release()
  await world.settle()
  // So many connections at once may overflow the listening queue: those get no answer, as at GitHub.
  const answers = new Set(copies.flat().map(({ status }) => status))
  expect([...answers].filter(status => status !== 202 && status !== 0)).toEqual([])
  expect(copies.flat().filter(({ status }) => status === 202).length).toBeGreaterThan(count / 2)
  const types = [...world.store.exportLines(paused.run)].map(line => JSON.parse(line).type)
  expect(types.filter(type => type === 'approval.voted')).toHaveLength(1)
  expect(types.filter(type => type === 'approval.resolved')).toHaveLength(1)
  expect(starts(world)).toBe(1)
  expect(paused.handle.attempt().number).toBe(2)
  expect(ownComments(world, paused.issue)).toHaveLength(1)
  await world.close()
}
