import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { armHost } from '../../runner/process/arm.ts'
import type { ArmedHost } from '../../runner/process/containment/armed-host.ts'
import { isRoot, kinds, launch, openRoom, type Room, sh, textOf } from './support.ts'

describe.each(kinds)('output of a process held by %s', kind => {
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

  test('is a pipe, which a script can open again by name', async () => {
    const script =
      'echo a > /dev/stderr; echo b | tee /dev/stderr; echo c > /proc/self/fd/1; test -p /dev/stdout && test -p /dev/stderr'
    const { end, captured } = await launch(room, armed, sh(script)).wait
    expect({ end, stdout: textOf(captured.stdout), stderr: textOf(captured.stderr) }).toEqual({
      end: { kind: 'exited', code: 0 },
      stdout: 'b\nc\n',
      stderr: 'a\nb\n',
    })
  })

  test('of a process that closes it is over, and what it does afterwards is still waited for', async () => {
    const { end, captured } = await launch(room, armed, sh('echo a; exec >&- 2>&-; sleep 0.3; exit 7')).wait
    expect(end).toEqual({ kind: 'exited', code: 7 })
    expect(textOf(captured.stdout)).toBe('a\n')
  })

  test('takes no descriptor of agentctl for good', async () => {
    const open = () => readdirSync('/proc/self/fd').length
    await launch(room, armed, sh('echo a')).wait
    const before = open()
    for (let count = 0; count < 10; count += 1) await launch(room, armed, sh('echo a; echo b >&2')).wait
    await launch(room, armed, { ...sh('true', 'x'.repeat(200_000)) }).wait
    expect(open()).toBeLessThanOrEqual(before + 1)
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
