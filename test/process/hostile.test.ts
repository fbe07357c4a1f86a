import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { armHost } from '../../runner/process/arm.ts'
import { type ArmedHost, refusing, StartRefused } from '../../runner/process/containment/armed-host.ts'
import { openCgroupHome, removeHome } from '../../runner/process/containment/cgroup.ts'
import type { Leftovers } from '../../runner/process/containment/leftovers.ts'
import { ownIdentity } from '../../runner/process/containment/proc.ts'
import { resultOfEnd } from '../../runner/process/process-result.ts'
import { agentctl, entries, kill, program, reap } from './agentctl.ts'
import type { Ended, Orders } from './program.ts'
import { kinds, launch, openRoom, type Room, sh, tagged, until } from './support.ts'

const leftovers = pathToFileURL(path.join(import.meta.dirname, '../../runner/process/containment/leftovers.ts')).href

/** In a process of its own: one that waits for a pipe could not be stopped by a test's time limit. */
function reapApart(room: Room): { result: Leftovers; milliseconds: number } | string {
  const options = JSON.stringify({ registry: room.options.registry })
  const text = `import { reapLeftovers } from '${leftovers}'
    const began = performance.now()
    const result = await reapLeftovers(${options})
    console.log(JSON.stringify({ result, milliseconds: performance.now() - began }))`
  const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    timeout: 20_000,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  })
  return signal === null ? (JSON.parse(stdout) as { result: Leftovers; milliseconds: number }) : signal
}

describe('an effect that writes into the registry', () => {
  let room: Room
  let place: string
  beforeEach(() => {
    room = openRoom('best-effort')
    place = room.options.registry?.[0] ?? ''
    mkdirSync(place, { mode: 0o700 })
  })
  afterEach(() => room.remove())

  const dead = { ...ownIdentity(), pid: 4_194_300, start: 1, cgroup: null }

  function entry(name: string, owner?: object): string {
    const directory = path.join(place, name)
    mkdirSync(directory, { mode: 0o700 })
    if (owner !== undefined) writeFileSync(path.join(directory, 'owner.json'), JSON.stringify(owner))
    return directory
  }

  test.each<[string, (file: string) => void]>([
    ['a pipe', file => void spawnSync('mkfifo', [file])],
    ['a link to a file without end', file => symlinkSync('/dev/zero', file)],
    ['a file that is too large', file => writeFileSync(file, JSON.stringify({ ...dead, pad: 'x'.repeat(4_096) }))],
    ['a directory', file => mkdirSync(file)],
  ])('%s for owner.json is skipped at once, and what is beside it still found', (_, make) => {
    const evil = entry('evil')
    make(path.join(evil, 'owner.json'))
    const honest = entry('4194300-1-honest', dead)
    expect(reapApart(room)).toMatchObject({
      result: { killed: [], left: [], owners: 1, isIncomplete: false },
      milliseconds: expect.toSatisfy((taken: number) => taken < 2_000),
    })
    expect([existsSync(evil), existsSync(honest)]).toEqual([true, false])
  })

  test('a link to another directory is no entry', () => {
    const elsewhere = path.join(room.directory, 'elsewhere')
    mkdirSync(elsewhere)
    writeFileSync(path.join(elsewhere, 'owner.json'), JSON.stringify({ ...dead, boot: 'another' }))
    symlinkSync(elsewhere, path.join(place, 'link'))
    expect(reapApart(room)).toMatchObject({ result: { owners: 0 } })
    expect(existsSync(path.join(elsewhere, 'owner.json'))).toBe(true)
  })

  test('more entries than agentctl looks at: it ends in its time and says that it has not seen all', () => {
    for (let number = 0; number < 2_000; number += 1) entry(`4194300-1-${number}`, dead)
    expect(reapApart(room)).toMatchObject({
      result: { left: [], isIncomplete: true },
      milliseconds: expect.toSatisfy((taken: number) => taken < 9_000),
    })
  })

  test('what is in an entry beside an agentctl’s own files is not followed or removed', () => {
    const directory = entry('4194300-1-stuffed', dead)
    mkdirSync(path.join(directory, '1-effect/deep'), { recursive: true })
    writeFileSync(path.join(directory, '1-effect/deep/file'), '')
    expect(reapApart(room)).toMatchObject({ result: { owners: 1 } })
    expect(existsSync(path.join(directory, '1-effect/deep/file'))).toBe(true)
    expect(reapApart(room)).toMatchObject({ result: { owners: 0 } })
  })
})

describe.each(kinds)('hostile children, %s', kind => {
  let room: Room
  let armed: ArmedHost
  beforeEach(() => {
    room = openRoom(kind)
  })
  afterEach(() => {
    expect(tagged(room.tag)).toEqual([])
    room.remove()
  })

  test('sixteen chains of forks that hear no signal and hold nothing: gone within 5 s of a cancel', async () => {
    const chain = room.script('chain', '#!/bin/sh\ntrap "" TERM INT HUP\n"$0" &\n')
    const script = `trap "" TERM; for i in $(seq 16); do setsid ${chain} 0<&- 1>&- 2>&- 3>&- & done; echo > ${room.file('all')}; sleep 60 & while :; do wait; done`
    const orders: Orders = {
      directory: room.directory,
      tag: room.tag,
      options: room.options,
      processes: [{ ...sh(script), effect: 'chains', timeoutSeconds: 60 }],
    }
    const child = spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.on('data', chunk => {
      text += chunk
    })
    await until('all chains', () => existsSync(room.file('all')))
    await until('some have forked', () => tagged(room.tag).length > 5)
    const began = performance.now()
    child.kill('SIGINT')
    await once(child, 'close')
    expect(performance.now() - began).toBeLessThan(5_000)
    const ended = JSON.parse(text.trim().split('\n')[1] ?? '') as Ended
    expect(ended).toMatchObject({ end: { kind: 'cancelled' }, containment: { containment: kind, left: [] } })
  })

  test('one that removes the registry: each effect from then on says that it would not be found', async () => {
    armed = armHost(room.options)
    const [place = ''] = room.options.registry ?? []
    const lost = { guarantee: 'findable_after_crash', reason: expect.stringContaining('owner.json') }
    const first = await launch(room, armed, sh('exit 0')).wait
    expect(first.containment.absent).not.toContainEqual(lost)
    const remover = await launch(room, armed, sh(`rm -rf ${path.dirname(place)}`)).wait
    expect(remover.containment.absent).toContainEqual(lost)
    const next = await launch(room, armed, sh('exit 0')).wait
    expect(next.containment.absent).toContainEqual(lost)
    armed.close()
  })

  test('one that removes its marker, or puts another in its place, says so of itself alone', async () => {
    armed = armHost(room.options)
    const [place = ''] = room.options.registry ?? []
    const lost = { guarantee: 'findable_after_crash', reason: expect.stringContaining('its marker') }
    for (const then of ['', '; : > $m']) {
      const remover = await launch(room, armed, sh(`for m in ${place}/*/*-remover; do rm $m${then}; done`)).wait
      expect(remover.containment.absent).not.toContainEqual(lost)
      const itself = await launch(room, armed, {
        ...sh(`for m in ${place}/*/*-remover; do rm $m${then}; done`),
        effect: 'remover',
      }).wait
      expect(itself.containment.absent).toContainEqual(lost)
    }
    const next = await launch(room, armed, sh('exit 0')).wait
    expect(next.containment.absent).not.toContainEqual(lost)
    armed.close()
  })

  test('what is left is told by the name of its program, without a character that is not shown', async () => {
    const orders: Orders = {
      directory: room.directory,
      tag: room.tag,
      options: room.options,
      processes: [
        { command: '/bin/sleep', args: ['60'], effect: 'plain' },
        {
          ...sh(
            `printf '\\n::add-mask::a' > /proc/$$/comm; : > ${room.file('there')}; while :; do read x; done < /dev/zero`,
          ),
          effect: 'named',
        },
      ],
    }
    const child = spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: 'ignore' })
    await until('both are there', () => existsSync(room.file('there')) && tagged(room.tag).length >= 2)
    await kill(child)
    const { killed } = await reap(room)
    const nameOf = (effect: string) => killed.find(each => each.effect === effect)?.command
    expect(nameOf('plain')).toMatch(/^(sleep|coreutils|busybox)$/)
    expect(nameOf('named')).toBe('\\u{a}::add-mask::a')
  })
})

describe.runIf(kinds.includes('cgroup'))('an agentctl that is killed while it makes its cgroup', () => {
  test('has an entry before it has a cgroup, which the next start removes', async () => {
    const room = openRoom('cgroup')
    const [place = ''] = room.options.registry ?? []
    const name = `4194300-1-${room.tag}`
    const opened = openCgroupHome(name)
    if ('absent' in opened) throw new Error(opened.absent)
    const { directory } = opened.home
    onTestFinished(() => void removeHome(directory))
    mkdirSync(path.join(directory, 'probe'))
    mkdirSync(path.join(place, name), { recursive: true, mode: 0o700 })
    const owner = { ...ownIdentity(), pid: 4_194_300, start: 1, cgroup: { directory, inode: null } }
    writeFileSync(path.join(place, name, 'owner.json'), JSON.stringify(owner))
    expect(await reap(room)).toMatchObject({ killed: [], left: [], owners: 1 })
    expect([existsSync(directory), entries(room)]).toEqual([false, []])
    room.remove()
  })

  test('the complete entry names the cgroup with its inode', async () => {
    const room = openRoom('cgroup')
    const child = agentctl(room, { effect: `: > ${room.file('there')}; sleep 60` })
    await until('it runs', () => existsSync(room.file('there')))
    const [name = ''] = entries(room)
    const file = path.join(room.options.registry?.[0] ?? '', name, 'owner.json')
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      cgroup: { directory: expect.stringContaining(`/agentctl/${name}`), inode: expect.any(Number) },
    })
    await kill(child)
    await reap(room)
    room.remove()
  })

  test('where no registry can be had the cgroup is made all the same, and the want of it told', () => {
    const armed = armHost({ registry: ['/proc/agentctl/processes'] })
    expect(armed.absent.map(({ guarantee }) => guarantee)).toEqual(['findable_after_crash'])
    armed.close()
  })
})

test('what goes wrong while a cgroup is made is never told as a command that was not found', () => {
  const act = () => refusing(() => rmSync('/proc/agentctl-is-not-here'))
  expect(act).toThrow(StartRefused)
  const code = codeOf(act)
  expect(code).toBe('containment_failed')
  expect(resultOfEnd({ kind: 'spawn_failed', code, message: 'x' }, null, true)).toMatchObject({
    kind: 'failed',
    code: 'containment_failed',
  })
  expect(resultOfEnd({ kind: 'spawn_failed', code: 'ENOENT', message: 'x' }, null, true)).toMatchObject({
    code: 'command_not_found',
  })
})

function codeOf(act: () => void): string {
  try {
    act()
  } catch (error) {
    if (error instanceof StartRefused) return error.code
  }
  return ''
}
