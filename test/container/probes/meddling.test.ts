import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import { expect, it } from 'vitest'
import { engineKey } from '../../../runner/container/find-engine.ts'
import { reapNoted } from '../../../runner/container/reap.ts'
import { askEngine, callEngine } from '../../engines/api.ts'
import { makeImage } from '../../engines/images.ts'
import { describeEngines } from '../../engines/provided.ts'
import { useRoom } from './support.ts'

describeEngines('what somebody else does', one => {
  const room = useRoom(one)
  const { engine } = one

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
