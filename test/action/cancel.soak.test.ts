import { expect, test } from 'vitest'
import { cancelMany, expectInTime } from './cancels.ts'
import { builtAction } from './job.ts'
import { otherUser } from './other-user.ts'

test('100 cancels: children gone, records written, within 5 s at p99', async () => {
  const action = await builtAction()
  const user = otherUser(61_203, action.folder)
  try {
    const ends = await cancelMany(100, action, user)
    expect(ends).toHaveLength(100)
    expectInTime(ends)
  } finally {
    user?.remove()
    action.remove()
  }
})
