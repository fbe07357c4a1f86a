import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { otherHost } from '../../runner/process/containment/other-host.ts'
import { openRoom, type Room, tagged, until } from './support.ts'

// What macOS gets, tried on the system at hand: process groups and ps are much the same there.

let room: Room
beforeEach(() => {
  room = openRoom('best-effort')
})
afterEach(() => {
  expect(tagged(room.tag)).toEqual([])
  room.remove()
})

const start = (script: string) => {
  const host = otherHost()
  const child = spawn('/bin/sh', ['-c', script], { env: { TAG: room.tag }, detached: true, stdio: 'ignore' })
  const held = host.start('one', () => child)
  return { host, held, child }
}

test('the group, and who left it but still descends, are ended; every guarantee is reported as absent', async () => {
  const file = room.file('there')
  const { host, held, child } = start(`setsid sh -c ': > ${file}; sleep 60' & sleep 60 & wait`)
  await until('all are there', () => existsSync(file))
  const exit = once(child, 'exit')
  const { containment, absent } = await held.end(5_000)
  await exit
  expect(containment).toBe('best-effort')
  expect(absent.map(({ guarantee }) => guarantee).sort()).toEqual([
    'cgroup',
    'closed_descriptors',
    'findable_after_crash',
    'non_dumpable',
    'subreaper',
  ])
  await until('nobody', () => tagged(room.tag).length === 0, 5)
  host.close()
})

test('asked to end, the group ends; what agentctl leaves at its own end goes too', async () => {
  const first = start('sleep 60 & wait')
  first.held.terminate()
  await once(first.child, 'exit')
  await until('the rest of the group', () => tagged(room.tag).length === 0, 5)
  first.host.close()
  const second = start('trap "" TERM; sleep 60 & wait')
  await once(second.child, 'spawn')
  second.host.close()
  await once(second.child, 'exit')
  await until('nobody', () => tagged(room.tag).length === 0, 5)
})
