import { accessSync, constants, existsSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { armHost } from '../../runner/process/arm.ts'
import type { ArmedHost } from '../../runner/process/containment/armed-host.ts'
import { isRoot, kinds, launch, openRoom, type Room, sh } from './support.ts'

describe.each(kinds)('held by %s', kind => {
  let room: Room
  let armed: ArmedHost
  beforeEach(() => {
    room = openRoom(kind)
    armed = armHost(room.options)
  })
  afterEach(() => {
    armed.close()
    room.remove()
  })

  test('N+1 bytes end the tree at once: nobody is asked first', async () => {
    const asked = room.file('asked')
    const request = {
      ...sh('trap "echo asked > $1" TERM; printf 12345; while :; do sleep 0.05; done', asked),
      limits: { stdout: 4, stderr: 4, combined: 8 },
    }
    const { end } = await launch(room, armed, request).wait
    expect(end).toEqual({ kind: 'output_exceeded', stream: 'stdout', limitBytes: 4 })
    expect(existsSync(asked)).toBe(false)
  })
})

test('a root user who may write to a cgroup v2 hierarchy is held by cgroup', () => {
  const mount = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find(place => existsSync(`${place}/cgroup.procs`))
  expect(kinds.includes('cgroup')).toBe(isRoot && mount !== undefined && mayWrite(mount))
})

function mayWrite(place: string): boolean {
  try {
    accessSync(place, constants.W_OK)
    return true
  } catch {
    return false
  }
}
