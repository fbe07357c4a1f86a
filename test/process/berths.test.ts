import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Berths } from '../../runner/process/containment/berths.ts'
import {
  type CgroupHome,
  isAlone,
  killCgroup,
  membersOf,
  moveSelf,
  openCgroupHome,
  removeHome,
} from '../../runner/process/containment/cgroup.ts'
import { cgroupOf } from '../../runner/process/containment/proc.ts'
import { kinds } from './support.ts'

describe.runIf(kinds.includes('cgroup'))('where agentctl waits while effects run', () => {
  let home: CgroupHome
  const before = cgroupOf('self')
  beforeEach(() => {
    const opened = openCgroupHome(`${process.pid}-0-berths`)
    if ('absent' in opened) throw new Error(opened.absent)
    home = opened.home
  })
  afterEach(() => {
    moveSelf(home.own)
    expect(removeHome(home.directory)).toBe(true)
    expect(cgroupOf('self')).toBe(before)
  })

  test('a cgroup that agentctl itself is in is never killed', () => {
    const dir = path.join(home.directory, 'one')
    mkdirSync(dir)
    moveSelf(dir)
    expect(isAlone(dir)).toBe(true)
    expect(killCgroup(dir)).toBe(false)
  })

  test('each child is born in a berth of its own, agentctl moves on, an emptied berth goes', async () => {
    const berths = new Berths(home)
    const first = berths.take()
    if (first === null) throw new Error('no berth')
    const child = spawn('/bin/sleep', ['60'], { stdio: 'ignore' })
    berths.advance()
    expect(berths.isReady).toBe(false)
    await berths.moved
    expect(berths.isReady).toBe(true)
    expect(membersOf(first.dir)).toEqual([child.pid])
    expect(berths.remove(first)).toBe(false)
    expect(berths.take()?.dir).not.toBe(first.dir)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(berths.remove(first)).toBe(true)
    expect(existsSync(first.dir)).toBe(false)
    berths.leave()
  })

  test('a berth that is empty but for agentctl counts as gone, and goes with agentctl', async () => {
    const berths = new Berths(home)
    const first = berths.take()
    if (first === null) throw new Error('no berth')
    berths.advance()
    expect(berths.remove(first)).toBe(true)
    await berths.moved
    expect(existsSync(first.dir)).toBe(false)
    berths.leave()
  })

  test('what else was started meanwhile keeps its place, and no effect is born there', async () => {
    const berths = new Berths(home)
    const helper = spawn('/bin/sleep', ['60'], { stdio: 'ignore' })
    const first = berths.take()
    expect(first === null ? null : membersOf(first.dir)).toEqual([process.pid])
    helper.kill('SIGKILL')
    await once(helper, 'exit')
    berths.leave()
  })

  test('where no more can be made it says so, and agentctl is back where it came from', () => {
    const berths = new Berths(home)
    mkdirSync(path.join(home.directory, '2'))
    expect(berths.take()).not.toBeNull()
    berths.advance()
    expect(berths.broken).toContain('EEXIST')
    expect([berths.isReady, berths.take()]).toEqual([true, null])
    expect(cgroupOf('self')).toBe(before)
  })
})
