import { type ChildProcess, spawn } from 'node:child_process'
import type { HostProcess } from './host-process.ts'
import type { OutputPipes } from './output-pipes.ts'

/**
 * Starts the program with nothing inherited but 0 to 3, in a session of its own. On Linux by descriptor, so that the file
 * that was hashed is the file that runs; a script is reopened by its interpreter as descriptor 4. Throws where Node does.
 */
export function spawnProcess(
  { executable, argv0, args, cwd, environment, stdin }: HostProcess,
  marker: number | null,
  output: OutputPipes['given'] | null,
): ChildProcess {
  const input = stdin === null ? 'ignore' : 'pipe'
  const common = { env: environment, detached: process.platform !== 'win32', windowsHide: true, shell: false }
  if (process.platform !== 'linux' || cwd.fd === null)
    return spawn(executable.realPath, args, { ...common, argv0, cwd: cwd.path, stdio: [input, 'pipe', 'pipe'] })
  const options = { ...common, argv0, cwd: `/proc/self/fd/${cwd.fd}` }
  const streams = [input, output?.stdout ?? 'pipe', output?.stderr ?? 'pipe', marker ?? 'ignore'] as const
  if (executable.interpreter === null)
    return spawn(`/proc/self/fd/${executable.fd}`, args, { ...options, stdio: [...streams] })
  return spawn('/proc/self/fd/4', args, { ...options, stdio: [...streams, executable.fd] })
}
