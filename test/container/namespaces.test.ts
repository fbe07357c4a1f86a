import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { describeEngines } from '../engines/provided.ts'
import { useRoom } from './probes/support.ts'

describeEngines('an agentctl in mount and pid namespaces of its own, as in a job container', one => {
  const room = useRoom(one)

  it('makes no success of what saw another directory than it decided about', async () => {
    const other = mkdtempSync(path.join(tmpdir(), 'agentctl-other-'))
    onTestFinished(() => rmSync(other, { recursive: true }))
    chmodSync(other, 0o755)
    writeFileSync(path.join(other, 'which'), 'decided about')
    writeFileSync(room.file('which'), 'of the host')
    const source = path.join(import.meta.dirname, '../../runner')
    const { kind, env, socket } = one.engine
    const script = `
      const { findEngine, runContainer } = await import(${JSON.stringify(`${source}/container/container.ts`)})
      const { openDirectory } = await import(${JSON.stringify(`${source}/facts/directory.ts`)})
      const environment = ${JSON.stringify({ ...env, ...(kind === 'podman' && { CONTAINER_HOST: `unix://${socket}` }) })}
      const found = await findEngine(${JSON.stringify(kind)}, ${JSON.stringify(one.busybox.reference)}, environment)
      const { end } = await runContainer({ ...found, command: '/bin/sh', args: ['-c', 'cat /workspace/which; sleep 4'],
        cwd: openDirectory(${JSON.stringify(room.directory)}), environment: {}, stdin: null, timeoutSeconds: 30,
        limits: { stdout: 99, stderr: 99, combined: 99 }, memoryLimitBytes: 67108864, cpuLimitMillis: 1000, pidsLimit: 8,
        run: 'run', effect: 'effect', onOutput() {}, signal: new AbortController().signal }).wait
      console.log(JSON.stringify(end))
      process.exit(0)`
    const bind = 'mount --bind "$0" "$1" && exec "$2" --input-type=module --eval "$3"'
    const words = ['sh', '-c', bind, other, room.directory, process.execPath, script]
    const { stdout } = await promisify(execFile)('unshare', ['--mount', '--pid', '--fork', '--mount-proc', ...words])
    expect(JSON.parse(stdout)).toMatchObject({ kind: expect.stringMatching(/^(lost|spawn_failed)$/) })
  })
})
