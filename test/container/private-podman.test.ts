import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cgroupOf } from '../../runner/process/containment/proc.ts'
import { engines } from '../engines/provided.ts'
import { createScene, planOf, start } from '../runner/support.ts'

/** Command lines of private services and of their keepers, by pid. */
function services(): Map<number, string> {
  const found = new Map<number, string>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
      if (line.includes('agentctl-podman-')) found.set(Number(name), line)
    } catch {
      // Ended meanwhile.
    }
  }
  return found
}

describe.skipIf(engines === null)('a private Podman service', () => {
  const { podman, busybox } = engines ?? {}

  it('serves where no socket answers, and host processes beside it neither end it nor hold it', async () => {
    const scene = createScene()
    onTestFinished(() => scene.dispose())
    const contained = {
      kind: 'builtin.shell.exec',
      command: 'sh',
      args: ['-c', 'sleep 0.3; echo inside'],
      isolation: 'container',
      container: { image: busybox?.podman.id, runtime: 'podman' },
    }
    const host = { kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', '(sleep 0.1 &) ; echo outside'] }
    const plan = planOf({
      policy: { processAllowlist: ['sh'], approval: 'never' },
      runtime: { maxConcurrency: 3 },
      actions: { inside: contained, outside: host },
      tasks: [
        { id: 'first', uses: 'action:outside' },
        { id: 'a', uses: 'action:inside', needs: ['first'] },
        { id: 'b', uses: 'action:outside', needs: ['first'] },
        { id: 'c', uses: 'action:outside', needs: ['a', 'b'] },
        { id: 'd', uses: 'action:inside', needs: ['c'] },
      ],
    })
    const outcome = await start(scene, plan, { ports: { environment: { ...podman?.env } } })
    expect(outcome.messages).toEqual([])
    expect(outcome.exitCode).toBe(0)
    const { effects } = scene.ledger.store.snapshot(outcome.run) ?? { effects: [] }
    expect(effects.map(({ task, enforcement }) => [task, enforcement?.['containment'], enforcement?.['left']])).toEqual(
      expect.arrayContaining([
        ['a', 'container', []],
        ['b', expect.stringMatching(/cgroup|best-effort/), []],
        ['d', 'container', []],
      ]),
    )
    const there = services()
    expect([...there.values()].some(line => line.includes('system service'))).toBe(true)
    for (const pid of there.keys()) expect(cgroupOf(pid)).not.toMatch(/\/agentctl\/.*\/\d+$/)
    expect(readdirSync(tmpdir()).some(name => name.startsWith('agentctl-podman-'))).toBe(true)
  })
})
