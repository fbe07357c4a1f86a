import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { askEngine } from './api.ts'
import { startEngines } from './engines.ts'
import { makeImage } from './images.ts'
import { mountsUnder } from './leftovers.ts'
import { processesOf } from './processes.ts'
import { describeEngines, engines } from './provided.ts'

const run = promisify(execFile)

describeEngines('a private engine', ({ engine, busybox, engines }) => {
  const command = engine.kind === 'docker' ? '/usr/bin/docker' : '/usr/bin/podman'
  const cli = (...args: string[]) => run(command, args, { env: engine.env })

  it('runs a command of an image that is named by its digest, and of one named by its id', async () => {
    for (const image of [busybox.reference, busybox.id]) {
      const { stdout } = await cli('run', '--rm', '--network=none', '--pull=never', image, '/bin/echo', 'hello')
      expect(stdout).toBe('hello\n')
    }
  })

  it('takes an image with any configuration', async () => {
    const config = { User: 'root', Entrypoint: ['/bin/false'], Volumes: { '/data': {} }, Env: ['PATH=/bin', 'A=b'] }
    const image = (await makeImage(engines, { name: 'configured', config }))[engine.kind]
    const { Config } = JSON.parse(await askEngine(engine, 'GET', `/images/${image.id}/json`))
    expect(Config).toMatchObject(config)
  })
})

describe.runIf(engines !== null)('the end of private engines', () => {
  it('leaves nothing, with a container still running on each, and says so itself', async () => {
    const own = await startEngines()
    for (const [command, { env }, { id }] of [
      ['/usr/bin/docker', own.docker, own.busybox.docker],
      ['/usr/bin/podman', own.podman, own.busybox.podman],
    ] as const) {
      const script = 'trap "exit 0" TERM; sleep 1000 & wait'
      execFileSync(command, ['run', '-d', '--network=none', '--pull=never', id, '/bin/sh', '-c', script], { env })
    }
    expect(processesOf(own.directory).length).toBeGreaterThan(5)
    expect(mountsUnder(own.directory).length).toBeGreaterThan(1)
    await own.stop()
    expect(processesOf(own.directory)).toEqual([])
    expect(mountsUnder(own.directory)).toEqual([])
    expect(existsSync(own.directory)).toBe(false)
  })
})
