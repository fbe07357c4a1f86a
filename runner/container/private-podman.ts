import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ExecutorError } from '../executor.ts'
import { fixedSearchPath } from '../facts/executable.ts'
import { findKoffi } from '../native/koffi.ts'
import { cgroupOf } from '../process/containment/proc.ts'
import type { EngineAddress, Environment } from './address.ts'
import { keeperCode } from './podman-keeper.ts'

/** Once nobody has asked it for so long it ends, whatever became of agentctl. */
const idleSeconds = 60
const startMilliseconds = 10_000
/** A socket's path is at most 107 bytes. */
const directoryLengthMax = 80

/**
 * Starts a `podman system service` of this run's own, which ends with agentctl: where none answers. Its programs are
 * neither orphans of an effect nor in an effect's cgroup. Throws ExecutorError.
 */
export async function privatePodman(podman: string, environment: Environment): Promise<EngineAddress> {
  if (process.geteuid?.() !== 0)
    throw new ExecutorError(
      'engine_rootless',
      'podman of a user other than root is rootless, where limits and owners differ; let root run podman system service and set CONTAINER_HOST',
    )
  const base = tmpdir().length > directoryLengthMax ? '/tmp' : tmpdir()
  const directory = mkdtempSync(path.join(base, 'agentctl-podman-'))
  const socket = path.join(directory, 's')
  const found = findKoffi()
  const args = ['system', 'service', `--time=${idleSeconds}`, `unix://${socket}`]
  const keeper = spawn(
    process.execPath,
    ['-e', keeperCode, 'file' in found ? found.file : '', String(process.pid), directory, podman, ...args],
    // A monitor writes the file `oom` where it was started.
    { env: podmanEnvironment(environment), cwd: directory, stdio: ['pipe', 'ignore', 'pipe'], detached: true },
  )
  let told = ''
  keeper.stderr.on('data', (chunk: Buffer) => {
    told = `${told}${chunk.toString()}`.slice(-2_000)
  })
  keeper.on('error', () => {})
  keeper.stdin.on('error', () => {})
  if (keeper.pid !== undefined) leaveBerth(keeper.pid)
  // It starts nothing before it is where it belongs.
  keeper.stdin.write('\n')
  process.once('exit', () => keeper.kill('SIGTERM'))
  const deadline = performance.now() + startMilliseconds
  while (!existsSync(socket)) {
    if (keeper.exitCode !== null || keeper.pid === undefined || performance.now() > deadline) {
      keeper.kill('SIGTERM')
      rmSync(directory, { recursive: true, force: true })
      throw new ExecutorError('engine_not_running', `podman system service could not be started: ${told.trim()}`)
    }
    await sleep(5)
  }
  keeper.unref()
  for (const pipe of [keeper.stdin, keeper.stderr])
    if ('unref' in pipe && typeof pipe.unref === 'function') pipe.unref()
  return { shown: `unix://${socket}`, at: { socketPath: socket }, isExplicit: true }
}

/** What Podman needs of the runner's environment, and no token of the job. */
function podmanEnvironment(environment: Environment): { [name: string]: string } {
  const wanted = /^(HOME|TMPDIR|XDG_\w+|CONTAINERS_\w+|REGISTRY_AUTH_FILE)$/
  const kept = Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && wanted.test(name) ? [[name, value] as const] : [],
  )
  return { ...Object.fromEntries(kept), PATH: fixedSearchPath.join(':') }
}

/** agentctl waits in the cgroup in which its next effect is born: what is no effect goes to where agentctl came from. */
function leaveBerth(pid: number): void {
  const own = cgroupOf('self')?.replace(/\/agentctl\/[^/]+\/\d+$/, '')
  const mount = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find(place => existsSync(`${place}/cgroup.procs`))
  if (own === undefined || mount === undefined) return
  try {
    writeFileSync(path.join(mount, own, 'cgroup.procs'), String(pid))
  } catch {
    // Then agentctl is in no cgroup of its own making either.
  }
}
