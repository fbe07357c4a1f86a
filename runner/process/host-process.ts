import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { Captured, ProcessEnd } from '../executor.ts'
import type { Directory } from '../facts/directory.ts'
import type { Executable } from '../facts/executable.ts'
import { Capture, type OutputLimits, type StreamName } from './capture.ts'
import { signalTree } from './tree.ts'

export interface HostProcess {
  executable: Executable
  /** argv[0], as the document writes the command. */
  argv0: string
  args: readonly string[]
  cwd: Directory
  /** The whole environment of the child. */
  environment: { [name: string]: string }
  /** What the child reads, and then its end; null = /dev/null. */
  stdin: Uint8Array | null
  timeoutSeconds: number
  limits: OutputLimits
  /** What is captured, as it comes. */
  onOutput(stream: StreamName, chunk: Uint8Array): void
  signal: AbortSignal
}

export interface RunningProcess {
  wait: Promise<{ end: ProcessEnd; captured: Captured }>
  kill(reason: string): Promise<void>
}

/** After the main process has ended: how long a grandchild that holds a pipe may still be heard. */
const drainMilliseconds = 1_000
/** Between SIGTERM and SIGKILL. */
const graceMilliseconds = 2_000

/**
 * Runs one program, bounded: direct argv, no shell, its own session, stdin empty, nothing inherited but what is given. It
 * never throws: how it ended is the result, whatever went wrong. Not a sandbox.
 */
export function runHostProcess(request: HostProcess): RunningProcess {
  const capture = new Capture(request.limits)
  const state: { end: ProcessEnd | null; exited: boolean; killing: boolean; overflowed: boolean } = {
    end: null,
    exited: false,
    killing: false,
    overflowed: false,
  }
  const timers = new Set<NodeJS.Timeout>()
  const later = (milliseconds: number, act: () => void) => {
    timers.add(setTimeout(act, milliseconds))
  }
  const { promise, resolve } = Promise.withResolvers<{ end: ProcessEnd; captured: Captured }>()
  const captured = (): Captured => ({ stdout: capture.bytes('stdout'), stderr: capture.bytes('stderr') })

  let child: ChildProcess
  try {
    child = start(request)
  } catch (error) {
    const wait = Promise.resolve({ end: spawnFailed(error), captured: captured() })
    return { wait, kill: async () => {} }
  }

  const stop = (end: ProcessEnd, gently: boolean) => {
    state.end ??= end
    if (state.killing || child.pid === undefined) return
    const { pid } = child
    state.killing = true
    if (!gently) return signalTree(pid, 'SIGKILL')
    signalTree(pid, 'SIGTERM')
    later(graceMilliseconds, () => signalTree(pid, 'SIGKILL'))
  }
  const finish = (end: ProcessEnd) => {
    for (const timer of timers) clearTimeout(timer)
    request.signal.removeEventListener('abort', onAbort)
    if (child.pid !== undefined) signalTree(child.pid, 'SIGKILL')
    child.stdout?.destroy()
    child.stderr?.destroy()
    resolve({ end: state.end ?? end, captured: captured() })
  }
  const onAbort = () => stop({ kind: 'cancelled', reason: reasonOf(request.signal) }, true)

  const listen = (stream: StreamName, pipe: Readable | null) => {
    pipe?.on('error', () => {})
    pipe?.on('data', (chunk: Uint8Array) => {
      if (state.overflowed) return
      const { kept, overflow } = capture.add(stream, chunk)
      if (kept.length > 0) request.onOutput(stream, kept)
      if (overflow !== null) {
        state.overflowed = true
        // Even one that was asked to end before is not given its grace any more; the first cause stands.
        state.killing = false
        stop(overflow, false)
      }
    })
  }
  // A child that does not read all of it, or is gone, ends as it ends: that is its result.
  child.stdin?.on('error', () => {})
  child.stdin?.end(request.stdin ?? undefined)
  listen('stdout', child.stdout)
  listen('stderr', child.stderr)

  let exit: ProcessEnd = { kind: 'lost', message: 'the process ended without an exit code' }
  child.on('error', error => {
    if (child.pid === undefined) finish(spawnFailed(error))
  })
  child.on('exit', (code, signal) => {
    if (code !== null) exit = { kind: 'exited', code }
    else if (signal !== null) exit = { kind: 'signalled', signal }
    state.exited = true
    later(drainMilliseconds, () => finish(exit))
  })
  child.on('close', () => {
    if (state.exited) finish(exit)
  })

  later(request.timeoutSeconds * 1_000, () => {
    if (!state.exited) stop({ kind: 'timed_out', seconds: request.timeoutSeconds }, true)
  })
  request.signal.addEventListener('abort', onAbort, { once: true })
  if (request.signal.aborted) onAbort()

  return {
    wait: promise,
    async kill(reason) {
      stop({ kind: 'cancelled', reason }, true)
      await promise
    },
  }
}

/** On Linux by descriptor, so that the file that was hashed is the file that runs; a script is reopened by its interpreter as descriptor 4. */
function start({ executable, argv0, args, cwd, environment, stdin }: HostProcess): ChildProcess {
  const input = stdin === null ? 'ignore' : 'pipe'
  const common = { env: environment, detached: process.platform !== 'win32', windowsHide: true, shell: false }
  if (process.platform !== 'linux' || cwd.fd === null)
    return spawn(executable.realPath, args, { ...common, argv0, cwd: cwd.path, stdio: [input, 'pipe', 'pipe'] })
  const place = `/proc/self/fd/${cwd.fd}`
  if (executable.interpreter === null)
    return spawn(`/proc/self/fd/${executable.fd}`, args, {
      ...common,
      argv0,
      cwd: place,
      stdio: [input, 'pipe', 'pipe'],
    })
  return spawn('/proc/self/fd/4', args, {
    ...common,
    argv0,
    cwd: place,
    stdio: [input, 'pipe', 'pipe', 'ignore', executable.fd],
  })
}

function spawnFailed(error: unknown): ProcessEnd {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'spawn_failed'
  return { kind: 'spawn_failed', code, message: error instanceof Error ? error.message : String(error) }
}

function reasonOf(signal: AbortSignal): string {
  const { reason } = signal
  return reason instanceof Error ? reason.message : String(reason ?? 'cancelled')
}
