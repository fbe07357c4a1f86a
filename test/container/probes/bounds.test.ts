import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, readlinkSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { ContainerSpec } from '../../../runner/container/engine.ts'
import { describeEngines } from '../../engines/provided.ts'
import { mebibyte, useRoom } from './support.ts'

const namespaces = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'uts']

describeEngines('what bounds a container', one => {
  const room = useRoom(one)
  const shell = async (script: string, options: Parameters<typeof room.probe>[1] = {}) =>
    (await room.probe(['-c', script], { command: '/bin/sh', ...options })).stdout.trimEnd().split('\n')

  it('has every namespace of its own, and a fixed name in its own', async () => {
    const links = namespaces.map(name => `/proc/self/ns/${name}`)
    const [host, ...inside] = await shell(`hostname; for link in ${links.join(' ')}; do readlink $link; done`)
    expect(host).toBe('agentctl')
    expect(inside).toHaveLength(namespaces.length)
    for (const [index, link] of links.entries()) expect(inside[index], link).not.toBe(readlinkSync(link))
  })

  it('has its bounds in its own cgroup, swap among them', async () => {
    const limits = { memoryLimitBytes: 48 * mebibyte, cpuLimitMillis: 123, pidsLimit: 37 }
    const up = Promise.withResolvers<void>()
    let id = ''
    const running = await room.start(['stubborn'], {
      ...limits,
      beforeStart: async made => {
        id = made
      },
      onOutput: () => up.resolve(),
    })
    await up.promise
    const { engine } = await room.find()
    const read = boundsOf((await engine.inspect(id))?.pid ?? 0)
    await running.kill('seen')
    const bytes = String(limits.memoryLimitBytes)
    // The second hierarchy counts swap alone, the first one memory with it.
    if (read.length === 4) expect(read).toEqual([bytes, '0', '37', '123000 1000000'])
    else expect(read).toEqual([bytes, bytes, '37', '123000', '1000000'])
  })

  it('sees its directory by a mount that takes nothing from the host later and gives nothing back', async () => {
    const cwd = room.file('shared')
    mkdirSync(cwd)
    execFileSync('mount', ['--bind', cwd, cwd])
    try {
      execFileSync('mount', ['--make-shared', cwd])
      const [line = ''] = await shell('grep " /workspace " /proc/self/mountinfo', { cwd })
      const propagation = line.slice(0, line.indexOf(' - ')).split(' ').slice(6)
      expect({ isThere: line !== '', propagation }).toEqual({ isThere: true, propagation: [] })
    } finally {
      execFileSync('umount', ['-l', cwd])
    }
  })

  it('has no device but those that every container has', async () => {
    const devices = await shell('find /dev -type b; find /dev -type c | grep -v "^/dev/pts/" | sort')
    expect(devices).toEqual(['full', 'null', 'random', 'tty', 'urandom', 'zero'].map(name => `/dev/${name}`))
  })

  it('starts nothing where the engine shows any one control otherwise than it was asked for', async () => {
    const { engine } = await room.find()
    const seen = (await room.probe(['exit', '0'])).controls.inspected
    expect(Object.keys(seen).sort()).toEqual([...controls[one.engine.kind]].sort())
    const lies = Object.keys(seen).map(name => ({
      name,
      engine: { ...engine, asked: (spec: ContainerSpec) => ({ ...engine.asked(spec), [name]: 'otherwise' }) },
    }))
    for (const { name, engine } of lies) {
      const { end, stdout } = await room.probe(['words', 'ran'], { engine })
      expect({ end, stdout }, name).toMatchObject({
        end: { kind: 'spawn_failed', code: 'control_not_in_force' },
        stdout: '',
      })
    }
  })
})

const both = `argv capabilitiesAdded capabilitiesDropped cgroupNamespace cpuPeriodMicroseconds cpuQuotaMicroseconds devices
  environment groups healthcheck hostNamespaces hostname image logDriver memoryAndSwapBytes memoryBytes mounts network
  oomKillDisabled openFiles pids ports privileged readOnlyRoot securityOptions stdin terminal tmpfs user workingDirectory`
/** Each control that an engine's inspect is held to. */
const controls = {
  docker: `${both} ipc nestedMounts volumes`.split(/\s+/),
  podman: `${both} annotations mountOptions systemd`.split(/\s+/),
}

/** What the kernel bounds a process by: files of its own cgroups, as the host sees them. */
function boundsOf(pid: number): string[] {
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trimEnd().split('\n')
  const groups = new Map(
    lines.flatMap(line => {
      const [, controllers = '', place = ''] = line.split(':')
      return controllers.split(',').map(one => [one, place] as const)
    }),
  )
  const top = '/sys/fs/cgroup'
  const file = (controller: string, name: string) =>
    readFileSync(`${top}/${controller}${groups.get(controller) ?? ''}/${name}`, 'utf8').trimEnd()
  if (groups.size === 1) return ['memory.max', 'memory.swap.max', 'pids.max', 'cpu.max'].map(name => file('', name))
  return [
    file('memory', 'memory.limit_in_bytes'),
    file('memory', 'memory.memsw.limit_in_bytes'),
    file('pids', 'pids.max'),
    file('cpu', 'cpu.cfs_quota_us'),
    file('cpu', 'cpu.cfs_period_us'),
  ]
}
