import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { holdMovesQuick, ownMembers } from '../../runner/container/cgroup-lock.ts'
import { firstBelow } from '../../runner/container/members.ts'

let room = ''
beforeEach(() => {
  room = mkdtempSync('/tmp/agentctl-cgroups-')
})
afterEach(() => rmSync(room, { recursive: true, force: true }))

const own = String(process.pid)

describe('moves between cgroups', () => {
  /** A hierarchy as it is mounted, with these members in one cgroup of it. */
  const hierarchy = (name: string, place: string, members: string) => {
    mkdirSync(path.join(room, name, place), { recursive: true })
    const file = path.join(room, name, place, 'cgroup.procs')
    writeFileSync(file, members)
    return file
  }

  it('are made within agentctl’s own cgroup of version 1, and no other', () => {
    hierarchy('.', 'job', `${own}\n`)
    hierarchy('systemd', 'job', `${own}\n`)
    expect(ownMembers('0::/job\n5:name=systemd:/job\n', room)).toBe(null)
    const file = hierarchy('cpu,cpuacct', 'a:b', `1\n${own}\n`)
    expect(ownMembers('0::/job\n5:name=systemd:/job\n3:cpu,cpuacct:/a:b\n', room)).toBe(file)
    expect(ownMembers('', room)).toBe(null)
  })

  it('are not made into a cgroup that only has the name of its own', () => {
    hierarchy('pids', '.', `1\n${own}0\n`)
    expect(ownMembers('3:pids:/\n', room)).toBe(null)
    expect(ownMembers('3:pids:/../..\n', room)).toBe(null)
  })

  it('go on until the last holder lets go', async () => {
    const file = hierarchy('pids', '.', '')
    const isWritten = async () => {
      writeFileSync(file, '')
      await sleep(100)
      return readFileSync(file, 'utf8')
    }
    const [first, second] = [holdMovesQuick(file), holdMovesQuick(file)]
    expect(await isWritten()).toBe(own)
    first()
    first()
    expect(await isWritten()).toBe(own)
    second()
    await sleep(100)
    expect(await isWritten()).toBe('')
    const third = holdMovesQuick(file)
    expect(await isWritten()).toBe(own)
    third()
  })

  it('are left where they are not allowed', async () => {
    const letGo = holdMovesQuick(path.join(room, 'absent/cgroup.procs'))
    await sleep(50)
    letGo()
    holdMovesQuick(null)()
    expect(existsSync(path.join(room, 'absent'))).toBe(false)
  })
})

describe('the first process of a container', () => {
  const parent = `/agentctl-test-${own}`
  const groups = ['pids', '.']
    .map(one => path.join('/sys/fs/cgroup', one))
    .filter(one => existsSync(`${one}/cgroup.procs`))

  it('is found in its cgroup, by being first in its namespace', async () => {
    const top = path.join(groups[0] ?? '', parent)
    const group = path.join(top, 'container')
    expect(firstBelow(parent)).toBe(null)
    mkdirSync(group, { recursive: true })
    const [outer, inner] = [['cat'], ['unshare', '--pid', '--fork', '--kill-child', 'cat']].map(
      ([file = '', ...args]) => spawn(file, args, { stdio: ['pipe', 'ignore', 'ignore'] }),
    )
    try {
      expect(firstBelow(parent)).toBe(0)
      writeFileSync(path.join(group, 'cgroup.procs'), String(outer?.pid))
      expect(firstBelow(parent)).toBe(0)
      const child = await childOf(inner?.pid ?? 0)
      writeFileSync(path.join(group, 'cgroup.procs'), String(child))
      expect(firstBelow(parent)).toBe(child)
    } finally {
      const ended = [outer, inner].map(one => one && once(one, 'exit'))
      outer?.stdin.end()
      inner?.stdin.end()
      await Promise.all(ended)
      rmdirSync(group)
      rmdirSync(top)
    }
  })

  async function childOf(pid: number): Promise<number> {
    for (;;) {
      const child = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim())
      if (child > 0) return child
      await sleep(5)
    }
  }
})
