import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A program that serves until it is stopped, and where it writes what it says. */
export interface Server {
  name: string
  child: ChildProcess
  log: string
}

const started: Server[] = []

/** Starts a server of ours. It is asked to end when its parent dies, however that dies. */
export function serve(name: string, command: string, args: string[], env: NodeJS.ProcessEnv, log: string): Server {
  const out = openSync(log, 'a')
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', '--', command, ...args], {
    env,
    stdio: ['ignore', out, out],
    detached: true,
    // A monitor of Podman's containers writes a file `oom` to where it stands.
    cwd: path.dirname(log),
  })
  const server = { name, child, log }
  started.push(server)
  return server
}

/** Waits until the server answers `path` with 200; throws with the end of what it said where it does not. */
export async function whenItAnswers(server: Server, at: { socketPath: string } | { port: number }, path: string) {
  const deadline = performance.now() + 60_000
  while ((await statusOf(at, path)) !== 200) {
    const hasEnded = server.child.exitCode !== null || server.child.signalCode !== null
    if (hasEnded || performance.now() > deadline) {
      throw new Error(`${server.name} does not answer: ${readFileSync(server.log, 'utf8').slice(-2000)}`)
    }
    await sleep(25)
  }
}

/** Stops every server that this process has started, the last one first. */
export async function stopServers(): Promise<void> {
  for (const server of started.reverse()) await stopServer(server)
}

/** SIGTERM, and SIGKILL where that does not end it in time. */
async function stopServer({ child }: Server): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(late)
}

/** Pids that have to do with a directory: by their command line, their environment or what is mounted for them alone. */
export function processesOf(directory: string): number[] {
  const ours = readlinkSync('/proc/self/ns/mnt')
  return readdirSync('/proc').flatMap(name => {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid === process.pid) return []
    try {
      if (/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))) return []
      const files =
        readlinkSync(`/proc/${pid}/ns/mnt`) === ours ? ['cmdline', 'environ'] : ['cmdline', 'environ', 'mountinfo']
      return files.some(file => readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(directory)) ? [pid] : []
    } catch {
      return []
    }
  })
}

/** Those of them that are there for a container: what runs in it, and the helpers that an engine gives each. */
export function processesOfContainers(directory: string): number[] {
  const ours = readlinkSync('/proc/self/ns/mnt')
  return processesOf(directory).filter(pid => {
    try {
      const command = readFileSync(`/proc/${pid}/comm`, 'latin1')
      return /^(containerd-shim|conmon|runc)/.test(command) || readlinkSync(`/proc/${pid}/ns/mnt`) !== ours
    } catch {
      return false
    }
  })
}

function statusOf(at: { socketPath: string } | { port: number }, path: string): Promise<number | null> {
  return new Promise(resolve => {
    const asked = request({ ...at, host: '127.0.0.1', path, timeout: 5_000, agent: false }, answer => {
      answer.resume()
      resolve(answer.statusCode ?? null)
    })
    asked.on('error', () => resolve(null))
    asked.on('timeout', () => asked.destroy())
    asked.end()
  })
}
