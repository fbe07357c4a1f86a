import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { reapContainers } from '../../../runner/container/leftovers.ts'
import { askEngine } from '../../engines/api.ts'
import { startEngines, type TestEngine } from '../../engines/engines.ts'
import { processesOfContainers } from '../../engines/processes.ts'
import { describeEngines } from '../../engines/provided.ts'
import type { Orders } from './program.ts'
import { useRoom } from './support.ts'

describeEngines('case 21: a container whose agentctl is killed', one => {
  const room = useRoom(one)
  const { engine, busybox } = one

  it('runs on until the next start, which removes it and no container of one that lives', async () => {
    const own = await room.start(['stubborn'])
    const other = agentctl(engine, { image: busybox.id, cwd: room.directory, effect: 'dead/task/1/0' })
    await other.says('output')
    await other.kill()
    expect(await effectsOn(engine)).toContain('dead/task/1/0')
    const { removed, left } = await reapContainers(engine.env)
    expect(left).toEqual([])
    expect(removed.map(({ effect }) => effect)).toEqual(['dead/task/1/0'])
    expect(await effectsOn(engine)).toEqual(['run/task/1/0'])
    await own.kill('seen')
    expect((await own.wait).end).toEqual({ kind: 'cancelled', reason: 'seen' })
    expect((await reapContainers(engine.env)).removed).toEqual([])
  })

  it.each([0, 20, 60, 120, 250])(
    'leaves nothing behind its reaper when it is killed %i ms after it has found its engine',
    async delay => {
      const other = agentctl(engine, { image: busybox.id, cwd: room.directory, effect: 'dead/task/1/0' })
      await other.says('found')
      await sleep(delay)
      await other.kill()
      await settled(engine)
      expect((await reapContainers(engine.env)).left).toEqual([])
      expect(await effectsOn(engine)).toEqual([])
    },
  )
})

describeEngines('an engine that ends under a container', ({ engine: { kind } }) => {
  // Its engines are its own: a daemon that is stopped just after its start may take until it is killed.
  const options = { timeout: 180_000 }
  it.each(['SIGTERM', 'SIGKILL'] as const)('gives no success and leaves nothing: %s', options, async signal => {
    const engines = await startEngines()
    let pid = 0
    try {
      const engine = engines[kind]
      const env = { ...engine.env, ...(kind === 'podman' && { CONTAINER_HOST: `unix://${engine.socket}` }) }
      const cwd = path.join(engines.directory, 'cwd')
      mkdirSync(cwd)
      const other = agentctl({ kind, env }, { image: engines.busybox[kind].id, cwd, effect: 'run/task/1/0' })
      pid = other.pid
      await other.says('output')
      process.kill(engine.pid, signal)
      const { end } = JSON.parse(await other.lastWords) as { end: { kind: string } }
      // Only Docker's orderly end tells how the container ended: by a kill.
      expect(end.kind).toMatch(/^(lost|signalled)$/)
      expect(cgroupsOf(pid)).toEqual([])
      expect(processesOfContainers(engines.directory).map(commandOf).filter(isProbe)).toEqual([])
    } finally {
      await engines.stop()
    }
  })
})

/** An agentctl of its own with one container that ignores every signal. */
function agentctl({ kind, env }: Pick<TestEngine, 'kind' | 'env'>, about: Pick<Orders, 'image' | 'cwd' | 'effect'>) {
  const orders: Orders = { kind, env, words: ['stubborn'], ...about }
  const program = path.join(import.meta.dirname, 'program.ts')
  const child = spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const heard: string[] = []
  const lines = createInterface(child.stdout).on('line', line => heard.push(line))
  return {
    pid: child.pid ?? 0,
    /** Resolves once it has printed the line; fails where it ends without. */
    async says(line: string): Promise<void> {
      while (!heard.includes(line)) {
        await Promise.race([once(lines, 'line'), ended])
        if (!heard.includes(line) && child.exitCode !== null) throw new Error(`it ended without saying ${line}`)
      }
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await ended
    },
    /** The line that it ends with. */
    lastWords: once(lines, 'close').then(() => heard.at(-1) ?? ''),
  }
}

/** That an agentctl made for its containers and that are still there. */
function cgroupsOf(pid: number): string[] {
  const top = '/sys/fs/cgroup'
  const places = [top, ...readdirSync(top).map(name => path.join(top, name))].filter(place =>
    statSync(place).isDirectory(),
  )
  return places.flatMap(place => readdirSync(place).filter(name => name.startsWith(`agentctl-container-${pid}-`)))
}

/** Effects of the containers on an engine. */
async function effectsOn(engine: TestEngine): Promise<string[]> {
  const listed = JSON.parse(await askEngine(engine, 'GET', '/containers/json?all=1')) as {
    Labels: { [name: string]: string }
  }[]
  return listed.map(({ Labels }) => Labels['dev.agentctl.effect'] ?? '')
}

/** Waits until the engine has done what it was asked for: half a second without a change. */
async function settled(engine: TestEngine): Promise<void> {
  let before = ''
  for (let same = 0; same < 10; ) {
    const now = await askEngine(engine, 'GET', '/containers/json?all=1')
    const seen = [...now.matchAll(/"(Id|State)":"[^"]*"/g)].join()
    same = seen === before ? same + 1 : 0
    before = seen
    await sleep(50)
  }
}

const isProbe = (command: string) => command.startsWith('/bin/probe')

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
