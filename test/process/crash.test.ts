import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadNative } from '../../runner/native/linux.ts'
import { openCgroupHome, removeHome } from '../../runner/process/containment/cgroup.ts'
import { reapLeftovers } from '../../runner/process/containment/leftovers.ts'
import { ownIdentity, seeProcess } from '../../runner/process/containment/proc.ts'
import { signalSeen } from '../../runner/process/containment/signal.ts'
import { agentctl, apart, entries, kill, killAtRandom, program, reap } from './agentctl.ts'
import type { Orders } from './program.ts'
import { kinds, openRoom, type Room, sh, stateOf, tagged, until } from './support.ts'

// This process arms nothing itself: orphans of an agentctl that is killed must not come to it.

describe.each(kinds)('agentctl killed by SIGKILL, %s', kind => {
  let room: Room
  beforeEach(() => {
    room = openRoom(kind)
  })
  afterEach(() => {
    expect(tagged(room.tag)).toEqual([])
    room.remove()
  })

  test('the next start finds exactly what is left, kills it, names its effect and forgets it', async () => {
    const [first, second] = [room.file('first'), room.file('second')]
    const child = agentctl(room, {
      'effect-one': `${apart(first)} exec sleep 61`,
      'effect-two': `${apart(second)} exec sleep 62`,
    })
    await until('all run', () => existsSync(first) && existsSync(second))
    expect((await reap(room)).owners).toBe(0)
    await kill(child)
    const left = tagged(room.tag)
    expect(left.length).toBeGreaterThanOrEqual(4)
    const result = await reap(room)
    expect(result).toMatchObject({ left: [], owners: 1 })
    expect(result.killed.map(({ pid }) => pid).sort()).toEqual(left.sort())
    const effectOf = (file: string) =>
      result.killed.find(({ pid }) => pid === Number(readFileSync(file, 'utf8')))?.effect
    expect([effectOf(first), effectOf(second)]).toEqual(['effect-one', 'effect-two'])
    expect(tagged(room.tag)).toEqual([])
    expect(entries(room)).toEqual([])
    expect(await reap(room)).toEqual({ killed: [], left: [], owners: 0, isIncomplete: false })
  })

  test('a child that kills agentctl', async () => {
    const file = room.file('there')
    const child = agentctl(room, {
      effect: `${apart(file)} while ! [ -e ${file} ]; do sleep 0.01; done; kill -9 $PPID; sleep 60`,
    })
    await once(child, 'exit')
    expect(child.signalCode).toBe('SIGKILL')
    expect(await reap(room)).toMatchObject({ left: [], owners: 1 })
  })

  test.runIf(kind === 'cgroup')(
    'a daemon that closed its marker is found by its cgroup, which is then removed',
    async () => {
      const [file, place] = [room.file('there'), room.file('place')]
      const daemon = `setsid sh -c 'exec 0<&- 1>&- 2>&- 3>&-; echo $$ > ${file}.new; mv ${file}.new ${file}; exec sleep 60' &`
      const child = agentctl(room, { effect: `grep ^0:: /proc/self/cgroup > ${place}; (${daemon}); sleep 60` })
      await until('it runs', () => existsSync(file))
      await kill(child)
      const { killed, left } = await reap(room)
      expect(left).toEqual([])
      expect(killed).toContainEqual({ pid: Number(readFileSync(file, 'utf8')), command: 'sleep', effect: 'effect' })
      const home = path.dirname(readFileSync(place, 'utf8').trim().slice('0::'.length))
      expect(home).toContain('/agentctl/')
      for (const mount of ['/sys/fs/cgroup/unified', '/sys/fs/cgroup']) expect(existsSync(mount + home)).toBe(false)
    },
  )

  test('another that lives is not touched, nor is anything of its', async () => {
    const [mine, other] = [room.file('mine'), room.file('other')]
    const dead = agentctl(room, { dead: `${apart(mine)} exec sleep 60` })
    const live = agentctl(room, { live: `${apart(other)} exec sleep 60` })
    await until('both run', () => existsSync(mine) && existsSync(other))
    await kill(dead)
    const { killed } = await reap(room)
    expect(killed.every(({ effect }) => effect === 'dead')).toBe(true)
    expect(stateOf(Number(readFileSync(other, 'utf8')))).not.toBeNull()
    expect(live.exitCode).toBeNull()
    expect(entries(room)).toHaveLength(1)
    await kill(live)
    await reap(room)
  })

  test('two that look at once do no harm', async () => {
    const file = room.file('there')
    const child = agentctl(room, { effect: `${apart(file)} exec sleep 60` })
    await until('it runs', () => existsSync(file))
    await kill(child)
    const both = await Promise.all([reap(room), reap(room)])
    expect(both.flatMap(({ left }) => left)).toEqual([])
    expect(entries(room)).toEqual([])
  })

  test('its end by a signal that it hears takes everything along and leaves no entry', async () => {
    const file = room.file('there')
    const orders = { effect: `${apart(file)} exec sleep 60` }
    const child = agentctl(room, orders)
    await until('it runs', () => existsSync(file))
    // As a face does when its time is over: it exits, whatever still runs.
    child.kill('SIGUSR2')
    await once(child, 'exit')
    expect(child.exitCode).toBe(130)
    await until('nobody is left', () => tagged(room.tag).length === 0, 5)
    expect(entries(room)).toEqual([])
  })

  test('an agentctl inside an effect of the one that was killed goes with it', async () => {
    const inner = openRoom(kind)
    const file = inner.file('there')
    const orders: Orders = {
      directory: inner.directory,
      tag: room.tag,
      options: inner.options,
      processes: [{ ...sh(`${apart(file)} exec sleep 60`), effect: 'inner' }],
    }
    const outer = agentctl(room, {
      outer: `exec ${process.execPath} ${program} '${JSON.stringify(orders).replaceAll("'", `'\\''`)}'`,
    })
    await until('the inner one runs', () => existsSync(file))
    await kill(outer)
    expect(await reap(room)).toMatchObject({ left: [], owners: 1 })
    expect(tagged(room.tag)).toEqual([])
    // What the inner one held is gone with it, so its entry is all that is left to forget.
    expect(await reapLeftovers({ registry: inner.options.registry ?? [] })).toMatchObject({ killed: [], owners: 1 })
    inner.remove()
  })
})

test.each(kinds)('%s: killed at a random moment, nothing is left', async kind => {
  for (let round = 0; round < 3; round += 1) expect(await killAtRandom(kind)).toEqual({ left: [], entries: [] })
})

describe('what a registry says is not believed further than it can be proven', () => {
  let room: Room
  let innocent: ChildProcess
  const self = ownIdentity()
  beforeEach(async () => {
    room = openRoom('best-effort')
    innocent = spawn('/bin/sleep', ['60'], { stdio: 'ignore', detached: true })
    await once(innocent, 'spawn')
  })
  afterEach(async () => {
    expect(innocent.exitCode ?? innocent.signalCode).toBeNull()
    await kill(innocent)
    room.remove()
  })

  /** An entry as agentctl makes it, of an owner that is over. */
  function forge(change: object, markers: string[] = []): string {
    const [place = ''] = room.options.registry ?? []
    const name = '4194300-1-forged'
    const directory = path.join(place, name)
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    for (const marker of markers) writeFileSync(path.join(directory, marker), '')
    writeFileSync(
      path.join(directory, 'owner.json'),
      JSON.stringify({ ...self, pid: 4_194_300, start: 1, cgroup: null, ...change }),
    )
    return directory
  }

  async function hold(marker: string): Promise<ChildProcess> {
    const fd = openSync(marker, 'r')
    const holder = spawn('/bin/sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', fd] })
    closeSync(fd)
    await once(holder, 'spawn')
    return holder
  }

  test('a recycled pid: the owner is over, and who has its number now is left alone', async () => {
    forge({ pid: innocent.pid, start: 1 })
    expect(await reap(room)).toEqual({ killed: [], left: [], owners: 1, isIncomplete: false })
    expect(entries(room)).toEqual([])
  })

  test('a process seen before and one that has its number now are two', async () => {
    const layer = loadNative()
    const seen = seeProcess(innocent.pid ?? 0)
    if (seen === null) throw new Error('not there')
    const earlier = { ...seen, start: seen.start - 1 }
    for (const native of ['native' in layer ? layer.native : null, null])
      expect(signalSeen(native, earlier, 'SIGKILL')).toBe('gone')
  })

  test('a holder of the marker that is older than the owner', async () => {
    const directory = forge({ start: Number.MAX_SAFE_INTEGER }, ['1-effect'])
    const holder = await hold(path.join(directory, '1-effect'))
    expect(await reap(room)).toEqual({ killed: [], left: [], owners: 1, isIncomplete: false })
    expect(stateOf(holder.pid ?? 0)).not.toBeNull()
    await kill(holder)
  })

  test('a holder of the marker that is younger', async () => {
    const directory = forge({}, ['1-effect'])
    const holder = await hold(path.join(directory, '1-effect'))
    expect(await reap(room)).toMatchObject({ killed: [{ pid: holder.pid, command: 'sleep', effect: 'effect' }] })
  })

  test.each([
    ['another boot', { boot: 'another' }, 0],
    ['another pid namespace', { pidNamespace: 'pid:[1]' }, 1],
    ['a live owner', { ...self }, 1],
  ])('%s: its processes are not looked for', async (_, change, left) => {
    const directory = forge(change, ['1-effect'])
    const holder = await hold(path.join(directory, '1-effect'))
    expect(await reap(room)).toEqual({ killed: [], left: [], owners: 0, isIncomplete: false })
    expect(stateOf(holder.pid ?? 0)).not.toBeNull()
    expect(entries(room)).toHaveLength(left)
    await kill(holder)
  })

  test.runIf(kinds.includes('cgroup')).each([
    ['a cgroup with another inode', 'right', 1],
    ['a cgroup that is not called as the owner', 'another', 0],
  ])('%s', async (_, name, change) => {
    const owner = name === 'right' ? '4194300-1-forged' : '4194300-1-another'
    const opened = openCgroupHome(owner)
    if ('absent' in opened) throw new Error(opened.absent)
    const { directory, inode } = opened.home
    writeFileSync(path.join(directory, 'cgroup.procs'), String(innocent.pid))
    forge({ cgroup: { directory, inode: inode + change } })
    expect(await reap(room)).toEqual({ killed: [], left: [], owners: 1, isIncomplete: false })
    expect(stateOf(innocent.pid ?? 0)).not.toBeNull()
    writeFileSync(path.join(path.dirname(path.dirname(directory)), 'cgroup.procs'), String(innocent.pid))
    expect(removeHome(directory)).toBe(true)
  })

  test('an owner that cannot be read, an empty entry, a stranger’s file', async () => {
    const directory = forge({})
    writeFileSync(path.join(directory, 'owner.json'), '{"pid":')
    const [place = ''] = room.options.registry ?? []
    mkdirSync(path.join(place, 'empty'))
    writeFileSync(path.join(place, 'file'), '')
    expect(await reap(room)).toEqual({ killed: [], left: [], owners: 0, isIncomplete: false })
  })

  test('a place that others may write is not looked into', async () => {
    const directory = forge({}, ['1-effect'])
    chmodSync(path.dirname(directory), 0o777)
    expect(await reap(room)).toEqual({ killed: [], left: [], owners: 0, isIncomplete: false })
    expect(existsSync(directory)).toBe(true)
  })
})
