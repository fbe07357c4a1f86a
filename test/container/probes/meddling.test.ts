import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { EngineFault } from '../../../runner/container/engine.ts'
import { engineKey } from '../../../runner/container/find-engine.ts'
import { reapNoted } from '../../../runner/container/reap.ts'
import { askEngine, callEngine } from '../../engines/api.ts'
import { makeImage } from '../../engines/images.ts'
import { describeEngines } from '../../engines/provided.ts'
import { useRoom } from './support.ts'

describeEngines('what somebody else does', one => {
  const room = useRoom(one)
  const { engine } = one

  it('counts the time from before an answer that comes late', async () => {
    const { engine: real } = await room.find()
    const late = {
      ...real,
      async start(id: string) {
        await real.start(id)
        await sleep(5_000)
      },
    }
    const script = ['-c', 'sleep 4; echo ran']
    const { end, stdout } = await room.probe(script, { command: '/bin/sh', engine: late, timeoutSeconds: 1 })
    expect({ end, stdout }).toEqual({ end: { kind: 'timed_out', seconds: 1 }, stdout: '' })
  })

  it.each([
    ['that it could not, after something was printed', 500],
    ['nothing', null],
  ])('is lost where the start answers %s, and the engine shows it as never started', async (_, status) => {
    const { engine: real } = await room.find()
    const { promise: isHeard, resolve: heard } = Promise.withResolvers<void>()
    let hasStarted = false
    const broken = {
      ...real,
      async start(id: string) {
        if (status !== null) {
          await real.start(id)
          await isHeard
        }
        hasStarted = true
        throw new EngineFault(status, '', 'start: broken')
      },
      async inspect(id: string) {
        const state = await real.inspect(id)
        return hasStarted && state !== null ? { ...state, started: false, running: false, over: false } : state
      },
    }
    const script = ['-c', 'echo ran; sleep 100']
    const { end, controls } = await room.probe(script, { command: '/bin/sh', engine: broken, onOutput: () => heard() })
    expect({ kind: end.kind, removed: controls.removed }).toEqual({ kind: 'lost', removed: true })
  })

  it('is asked again to remove what it did not the first time', async () => {
    const { engine: real } = await room.find()
    let times = 0
    const forgetful = {
      ...real,
      async remove(id: string) {
        times += 1
        if (times > 2) await real.remove(id)
      },
    }
    const { controls } = await room.probe(['exit', '0'], { engine: forgetful })
    expect({ removed: controls.removed, times }).toEqual({ removed: true, times: 3 })
  })

  it('makes no success of a container that was started again', async () => {
    let id = ''
    const running = await room.start(['-c', 'echo begun; sleep 3; echo done'], {
      command: '/bin/sh',
      async beforeStart(container) {
        id = container
      },
      onOutput() {
        void callEngine(engine, 'POST', `/containers/${id}/restart?t=0`).catch(() => {})
      },
    })
    const { end } = await running.wait
    expect(['lost', 'signalled']).toContain(end.kind)
  })

  it('costs no container that only carries a label of ours, from its image, beside one that a dead agentctl left', async () => {
    const owner = '999999 1 00000000-0000-0000-0000-000000000000 pid:[1]'
    const left = '999998 1 00000000-0000-0000-0000-000000000000 pid:[1]'
    const labels = { 'dev.agentctl.run': 'r', 'dev.agentctl.effect': 'e', 'dev.agentctl.owner': owner }
    const image = (await makeImage(one.engines, { name: 'labelled', config: { Labels: labels } }))[engine.kind]
    const make = async (Labels: { [name: string]: string }) => {
      const body = JSON.stringify({ Image: image.id, Cmd: ['/bin/true'], HostConfig: { NetworkMode: 'none' }, Labels })
      const headers = { 'content-type': 'application/json' }
      return (JSON.parse(await askEngine(engine, 'POST', '/containers/create', body, headers)) as { Id: string }).Id
    }
    const [innocent, orphan] = [await make({}), await make({ 'dev.agentctl.owner': left })]
    const directory = mkdtempSync(path.join(tmpdir(), 'agentctl-note-'))
    try {
      const environment = {
        ...engine.env,
        ...(engine.kind === 'podman' && { CONTAINER_HOST: `unix://${engine.socket}` }),
      }
      const file = path.join(directory, 'note')
      writeFileSync(file, '')
      const key = engineKey(engine.kind, environment)
      const { removed } = await reapNoted([{ file, owner: left, engines: [key ?? ''] }], environment)
      expect(removed.map(({ id }) => id)).toEqual([orphan])
      expect((await callEngine(engine, 'GET', `/containers/${innocent}/json`)).status).toBe(200)
    } finally {
      rmSync(directory, { recursive: true })
      await callEngine(engine, 'DELETE', `/containers/${innocent}?force=true&v=true`)
    }
  })

  it('no connection outlives a container that was made and not started', async () => {
    const streams: Duplex[] = []
    const { engine: found } = await room.find()
    const watched = {
      ...found,
      asked: (spec: Parameters<typeof found.asked>[0]) => ({ ...found.asked(spec), user: 'another' }),
      async attach(...asked: Parameters<typeof found.attach>) {
        const stream = await found.attach(...asked)
        streams.push(stream)
        return stream
      },
    }
    const { end } = await room.probe(['words', 'ran'], { engine: watched })
    expect(end).toMatchObject({ kind: 'spawn_failed', code: 'control_not_in_force' })
    await expect.poll(() => streams.map(({ destroyed }) => destroyed)).toEqual(streams.map(() => true))
    expect(streams).toHaveLength(1)
  })
})
