import { existsSync, mkdtempSync, readdirSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { plainEnvironment, startDocker } from './docker.ts'
import type { Engines } from './engines.ts'
import { makeBaseLayer, makeImage } from './images.ts'
import { clearAway, lookBefore } from './leftovers.ts'
import { installPackages } from './packages.ts'
import { startPodman } from './podman.ts'
import { stopServers } from './processes.ts'
import { startRegistry } from './registry.ts'

// Keeps the engines until its stdin ends, which it does too when whoever started it is killed.

await installPackages()
const before = lookBefore()
const temporary = realpathSync(tmpdir())
await clearStale()
const directory = mkdtempSync(path.join(temporary, `ac-engines-${process.pid}-`))
const cgroup = path.basename(directory)
const closed = new Promise<void>(resolve => {
  process.stdin.on('close', resolve).resume()
})
// The end of stdin is the one way to stop it: a Ctrl-C of the terminal ends its parent, and that ends stdin.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

try {
  process.stdout.write(`${JSON.stringify(await start())}\n`)
  await closed
} finally {
  await stopServers()
  const left = await clearAway(directory, cgroup, before)
  if (left.length > 0) {
    console.error(`left behind:\n${left.join('\n')}`)
    process.exitCode = 1
  }
}

/** What a keeper that was killed itself has left: its servers ended with it, but not their mounts and files. */
async function clearStale(): Promise<void> {
  for (const name of readdirSync(temporary)) {
    const [, pid] = /^ac-engines-(\d+)-/.exec(name) ?? []
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await clearAway(path.join(temporary, name), name, before)
  }
}

async function start(): Promise<Engines> {
  const [docker, podman, registry] = await Promise.all([
    startDocker(directory, cgroup),
    startPodman(directory),
    startRegistry(directory),
  ])
  const plain = plainEnvironment(directory)
  const engines: Omit<Engines, 'busybox'> = {
    directory,
    docker: {
      kind: 'docker',
      env: { ...plain, DOCKER_HOST: `unix://${docker.socket}` },
      socket: docker.socket,
      dataRoot: docker.dataRoot,
      pid: docker.server.child.pid ?? 0,
    },
    podman: {
      kind: 'podman',
      env: podman.env,
      socket: podman.socket,
      dataRoot: podman.dataRoot,
      pid: podman.server.child.pid ?? 0,
    },
    registry: registry.host,
    ...makeBaseLayer(directory),
  }
  return { ...engines, busybox: await makeImage(engines, { name: 'busybox' }) }
}
