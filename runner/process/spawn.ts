import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import type { Native } from '../native/native.ts'
import type { HostProcess } from './host-process.ts'
import type { MainProcess } from './main-process.ts'
import { openPipes } from './pipes.ts'
import { SpawnedProcess } from './spawned-process.ts'

/**
 * Starts the program with nothing inherited but 0 to 3, in a session of its own; `marker` is what it has as 3. On Linux by
 * descriptor, so that the file that was hashed is the file that runs; a script is reopened by its interpreter as descriptor
 * 4. Throws what the system says.
 */
export function spawnProcess(request: HostProcess, native: Native | null, marker: number | null): MainProcess {
  const { fd } = request.cwd
  return native !== null && fd !== null ? spawnNatively(request, native, fd, marker) : spawnByNode(request, marker)
}

function spawnNatively(
  { executable, argv0, args, environment, stdin }: HostProcess,
  native: Native,
  cwd: number,
  marker: number | null,
): MainProcess {
  const pipes = openPipes(native, stdin !== null)
  try {
    const request = {
      program: executable.fd,
      isScript: executable.interpreter !== null,
      argv: [argv0, ...args],
      environment: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      cwd,
      descriptors: [...pipes.given, marker],
    }
    return new SpawnedProcess(native, request, pipes)
  } catch (error) {
    for (const stream of [pipes.stdin, pipes.stdout, pipes.stderr]) stream?.destroy()
    throw error
  } finally {
    for (const fd of pipes.given) if (fd !== null) closeSync(fd)
  }
}

/** Where there is no native layer. */
function spawnByNode(
  { executable, argv0, args, cwd, environment, stdin }: HostProcess,
  marker: number | null,
): MainProcess {
  const input = stdin === null ? 'ignore' : 'pipe'
  const common = { env: environment, detached: process.platform !== 'win32', windowsHide: true, shell: false, argv0 }
  if (process.platform !== 'linux' || cwd.fd === null)
    return spawn(executable.realPath, args, { ...common, cwd: cwd.path, stdio: [input, 'pipe', 'pipe'] })
  const options = { ...common, cwd: `/proc/self/fd/${cwd.fd}` }
  const streams = [input, 'pipe', 'pipe', marker ?? 'ignore'] as const
  if (executable.interpreter === null)
    return spawn(`/proc/self/fd/${executable.fd}`, args, { ...options, stdio: [...streams] })
  return spawn('/proc/self/fd/4', args, { ...options, stdio: [...streams, executable.fd] })
}
