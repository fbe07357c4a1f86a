import type { Readable } from 'node:stream'
import type { Captured, Containment, ProcessEnd } from '../executor.ts'
import type { Directory } from '../facts/directory.ts'
import type { Executable } from '../facts/executable.ts'
import { armProcesses } from './arm.ts'
import { Capture, type OutputLimits, type StreamName } from './capture.ts'
import type { ArmedHost, Held } from './containment/armed-host.ts'
import type { MainProcess } from './main-process.ts'
import { spawnProcess } from './spawn.ts'

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
  /** Id of the effect that it belongs to, by which it is named where it is left behind. */
  effect?: string
  /** For tests; absent = `armProcesses()`. */
  armed?: ArmedHost
}

export interface RunningProcess {
  wait: Promise<{ end: ProcessEnd; captured: Captured; containment: Containment }>
  kill(reason: string): Promise<void>
}

/** After the main process has ended: how long a grandchild that holds a pipe may still be heard. */
const drainMilliseconds = 1_000
/** Between SIGTERM and SIGKILL. */
const graceMilliseconds = 2_000
/** From SIGKILL until what still lives is named instead; less of it once a whole job waits to end. */
const killMilliseconds = 5_000
const killCancelledMilliseconds = 1_500
/** How often it is looked whether those who were asked to end have, and whether the main process is still there. */
const askMilliseconds = 50
const watchMilliseconds = 1_000

/**
 * Runs one program, bounded: direct argv, no shell, its own session, stdin empty, nothing inherited but what is given. It
 * never throws: how it ended is the result, whatever went wrong. Not a sandbox.
 */
export function runHostProcess(request: HostProcess): RunningProcess {
  const run = startRun(request)
  return {
    wait: run.then(started => (started instanceof Run ? started.result : started)),
    async kill(reason) {
      const started = await run
      if (started instanceof Run) await started.cancel(reason)
    },
  }
}

/** At once where nothing has to be waited for. */
async function startRun(request: HostProcess): Promise<Run | Result> {
  let armed: ArmedHost | null = null
  const nothing = (end: ProcessEnd): Result => ({
    end,
    captured: { stdout: new Uint8Array(), stderr: new Uint8Array() },
    containment: { containment: 'best-effort', absent: [...(armed?.absent ?? [])], left: [] },
  })
  try {
    armed = request.armed ?? armProcesses()
    for (let waiting = armed.ready(); waiting !== null; waiting = armed.ready()) await waiting
    if (request.signal.aborted) return nothing({ kind: 'cancelled', reason: reasonOf(request.signal) })
    return startIn(armed, request)
  } catch (error) {
    return nothing(spawnFailed(error))
  }
}

function startIn(armed: ArmedHost, request: HostProcess): Run {
  return new Run(
    request,
    armed.start(request.effect ?? '', marker => spawnProcess(request, armed.native, marker)),
  )
}

type Result = Awaited<RunningProcess['wait']>

/** One process from its start to its result. */
class Run {
  readonly #request: HostProcess
  readonly #held: Held
  readonly #capture: Capture
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #done = Promise.withResolvers<Result>()
  readonly #closed = Promise.withResolvers<void>()
  readonly #onAbort = () => this.#stop({ kind: 'cancelled', reason: reasonOf(this.#request.signal) })
  /** Why agentctl ends it, null while it may run; the first cause stands. */
  #cause: ProcessEnd | null = null
  #graceEnds = 0
  #exit: ProcessEnd = { kind: 'lost', message: 'the process ended without an exit code' }
  #hasExited = false
  #isOverflowed = false
  #isEnding = false
  /** Looks in a row that found the main process gone though nobody told its exit code. */
  #missed = 0

  constructor(request: HostProcess, held: Held) {
    this.#request = request
    this.#held = held
    this.#capture = new Capture(request.limits)
    const { child } = held
    // A child that does not read all of it, or is gone, ends as it ends: that is its result.
    child.stdin?.on('error', () => {})
    child.stdin?.end(request.stdin ?? undefined)
    this.#listen('stdout', child.stdout)
    this.#listen('stderr', child.stderr)
    child.on('error', error => {
      if (child.pid === undefined) void this.#finish(spawnFailed(error))
    })
    child.on('exit', (code, signal) => this.#exited(code, signal))
    const streams = [child.stdout, child.stderr].flatMap(stream => (stream === null ? [] : closing(stream)))
    void Promise.all([closing(child), ...streams]).then(() => {
      this.#closed.resolve()
      if (this.#hasExited) this.#whenAsked()
    })
    const { timeoutSeconds, signal } = request
    this.#later(timeoutSeconds * 1_000, () => this.#stop({ kind: 'timed_out', seconds: timeoutSeconds }))
    this.#timers.add(setInterval(() => this.#watch(), watchMilliseconds))
    signal.addEventListener('abort', this.#onAbort, { once: true })
    if (signal.aborted) this.#onAbort()
  }

  get result(): Promise<Result> {
    return this.#done.promise
  }

  async cancel(reason: string): Promise<void> {
    this.#stop({ kind: 'cancelled', reason })
    await this.result
  }

  #listen(stream: StreamName, pipe: Readable | null): void {
    pipe?.on('error', () => {})
    pipe?.on('data', (chunk: Uint8Array) => {
      if (this.#isOverflowed) return
      const { kept, overflow } = this.#capture.add(stream, chunk)
      if (kept.length > 0) this.#request.onOutput(stream, kept)
      if (overflow === null) return
      this.#isOverflowed = true
      // Even one that was asked to end before is not given its grace any more.
      this.#cause ??= overflow
      void this.#finish(overflow)
    })
  }

  /** Asks everyone to end, and ends whoever has not after the grace. An exit that was seen stands. */
  #stop(cause: ProcessEnd): void {
    if (this.#cause !== null || this.#hasExited || this.#isEnding) return
    this.#cause = cause
    this.#graceEnds = performance.now() + graceMilliseconds
    this.#held.terminate()
    this.#later(graceMilliseconds, () => void this.#finish(cause))
  }

  #exited(code: number | null, signal: string | null): void {
    if (code !== null) this.#exit = { kind: 'exited', code }
    // Windows has none: what Node calls one there is an end whose code nobody saw.
    else if (signal !== null && process.platform !== 'win32') this.#exit = { kind: 'signalled', signal }
    this.#hasExited = true
    if (this.#cause === null) this.#later(drainMilliseconds, () => void this.#finish(this.#exit))
  }

  /** Ends what is left once the main process is over; those who were asked to end have their grace first. */
  #whenAsked(): void {
    if (this.#cause === null || this.#held.isEmpty() || performance.now() >= this.#graceEnds)
      void this.#finish(this.#exit)
    else this.#later(askMilliseconds, () => this.#whenAsked())
  }

  /** Somebody else may have waited for the main process: then nobody will ever tell its exit code. */
  #watch(): void {
    const { pid, exitCode, signalCode } = this.#held.child
    const isGone = pid !== undefined && exitCode === null && signalCode === null && !exists(pid)
    this.#missed = isGone ? this.#missed + 1 : 0
    if (this.#missed === 2) void this.#finish(this.#exit)
  }

  async #finish(end: ProcessEnd): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#request.signal.removeEventListener('abort', this.#onAbort)
    const budget = this.#cause?.kind === 'cancelled' ? killCancelledMilliseconds : killMilliseconds
    const containment = await this.#held.end(budget)
    // Nobody holds the pipes any more, unless somebody could not be ended: what is in them is read to its end.
    const drained = setTimeout(() => this.#closed.resolve(), drainMilliseconds)
    await this.#closed.promise
    clearTimeout(drained)
    const { child } = this.#held
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy()
    // One that could not be ended must not keep agentctl from ending.
    child.unref()
    const captured = { stdout: this.#capture.bytes('stdout'), stderr: this.#capture.bytes('stderr') }
    this.#done.resolve({ end: this.#cause ?? end, captured, containment })
  }

  #later(milliseconds: number, act: () => void): void {
    this.#timers.add(setTimeout(act, milliseconds))
  }
}

function closing(of: Pick<MainProcess, 'once'>): Promise<void> {
  return new Promise(resolve => {
    of.once('close', () => resolve())
  })
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function spawnFailed(error: unknown): ProcessEnd {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'spawn_failed'
  return { kind: 'spawn_failed', code, message: error instanceof Error ? error.message : String(error) }
}

function reasonOf(signal: AbortSignal): string {
  const { reason } = signal
  return reason instanceof Error ? reason.message : String(reason ?? 'cancelled')
}
