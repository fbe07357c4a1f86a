import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { attachAgain, outcomes, type Paused, pausedRun, recordOf } from './pauses.ts'
import { startWorld, type World } from './world.ts'

let world: World
let paused: Paused

beforeEach(async () => {
  world = await startWorld()
  world.onJob = ({ attempt }) => {
    if (attempt > 1 && attachAgain(world, paused.run, paused.handle.id, attempt)) return
    throw new Error('paused')
  }
})
afterEach(() => world.close())

describe('an approving comment', () => {
  test('resolves the pause, re-runs the paused job, closes the issue', async () => {
    paused = await pausedRun(world)
    await world.settle()
    const comment = world.github.comment(paused.issue, world.people.alice, '/approve looks right')
    await world.settle()
    expect(outcomes(world, paused.pause)).toEqual(['approved'])
    expect(paused.handle.attempt().number).toBe(2)
    expect(recordOf(world, paused.run).state).toBe('running')
    expect(comment.reactions.map(({ content }) => content)).toEqual(['+1'])
    expect(paused.issue.state).toBe('closed')
    expect(world.github.requests.count('POST /repos/{owner}/{repo}/actions/jobs/{job_id}/rerun')).toBe(1)
    world.github.assertValid()
  })
})
