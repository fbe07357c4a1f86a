import { statSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { describeError } from '../../policy/redact.ts'
import type { ProcessEnd } from '../executor.ts'
import { identityOf } from '../facts/directory.ts'
import { within } from './calls.ts'
import { holdMovesQuick } from './cgroup-lock.ts'
import type { ContainerProcess, ContainerResult, ControlsFound, RunningContainer } from './container.ts'
import { specOf } from './container-spec.ts'
import { EndWatch } from './end-watch.ts'
import { type ContainerSpec, EngineFault } from './engine.ts'
import { FirstProcess } from './first-process.ts'
import { memoryRanOut } from './memory-evidence.ts'
import { refuseNested } from './nested-mounts.ts'
import { forgetContainer, noteContainer } from './notes.ts'
import { ContainerOutput } from './output.ts'
import { removeContainer } from './removal.ts'
import { startFault } from './start-fault.ts'
import { refuseUnfit, Stopped } from './stopped.ts'

/** For its kill and removal; less of it once a whole job waits to end. */
const removeMilliseconds = 20_000
const removeCancelledMilliseconds = 3_500
/** How long a run that was told to stop waits for a container that is just being made. */
const lateCreateMilliseconds = 1_000

/**
 * Runs one command in one container: made, looked at, attached, started, waited for, removed, and proven to be gone. It
 * never throws: how it ended is the result, whatever went wrong.
 */
export function runContainer(request: ContainerProcess): RunningContainer {
  const killing = new AbortController()
  const life = new Life(request, AbortSignal.any([request.signal, killing.signal]))
  const wait = life.result()
  return {
    wait,
    async kill(reason) {
      killing.abort(new Error(reason))
      await wait
    },
  }
}

/** One container from its creation to its removal. */
class Life {
  readonly #request: ContainerProcess
  readonly #signal: AbortSignal
  readonly #spec: ContainerSpec
  readonly #output: ContainerOutput
  readonly #stop = Promise.withResolvers<never>()
  /** Ends the calls that wait for it. */
  readonly #over = new AbortController()
  /** Ends the looking for its end. */
  readonly #watching = new AbortController()
  readonly #controls: ControlsFound
  readonly #first: FirstProcess
  readonly #watch: EndWatch
  #isStopped = false
  #isRemoved = false
  /** Whether one was asked for, and no answer said that it was not made. */
  #mayExist = false
  #wasStarted = false
  #timer: NodeJS.Timeout | undefined

  constructor(request: ContainerProcess, signal: AbortSignal) {
    const { engine, image } = request
    this.#request = request
    this.#signal = signal
    this.#output = new ContainerOutput(request.limits, request.onOutput, end => this.#halt(end))
    this.#spec = specOf(request)
    this.#controls = {
      engine: { kind: engine.kind, version: engine.version, address: engine.address },
      image: { reference: image.reference, id: image.id },
      inspected: {},
      init: { notReadable: 'it was not started' },
      memoryRanOut: false,
      removed: true,
      container: '',
    }
    this.#first = new FirstProcess(request, this.#spec.cgroupParent, this.#output)
    this.#watch = new EndWatch(
      engine,
      this.#output,
      () => this.#first.lives(),
      this.#watching.signal,
      end => this.#halt(end),
    )
    // It may never be waited for.
    this.#stop.promise.catch(() => {})
  }

  async result(): Promise<ContainerResult> {
    const onAbort = () => this.#halt({ kind: 'cancelled', reason: reasonOf(this.#signal) })
    this.#signal.addEventListener('abort', onAbort, { once: true })
    if (this.#signal.aborted) onAbort()
    let end: ProcessEnd
    try {
      end = await this.#live()
    } catch (error) {
      end = error instanceof Stopped ? error.end : { kind: 'lost', message: describeError(error) }
    }
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#watching.abort()
    this.#output.close()
    this.#signal.removeEventListener('abort', onAbort)
    this.#controls.removed = await this.#remove(
      end.kind === 'cancelled' ? removeCancelledMilliseconds : removeMilliseconds,
    )
    this.#over.abort()
    return {
      end,
      captured: this.#output.captured(),
      controls: this.#controls,
      exitCode: this.#watch.state?.exitCode ?? null,
    }
  }

  /** From nothing to its end; throws Stopped for every other end. */
  async #live(): Promise<ProcessEnd> {
    const { stdin, engine } = this.#request
    refuseUnfit(this.#request)
    this.#refuseSwapped()
    const id = await this.#create()
    const letMovesGo = engine.isLocal ? holdMovesQuick() : () => {}
    const { input, exited } = await this.#begin(id).finally(letMovesGo)
    this.#haltWhereSwapped()
    input?.end(stdin)
    const looking = this.#lookAtFirst(id)
    await this.#unlessStopped(Promise.all([exited, looking]))
    if ('notReadable' in this.#controls.init) this.#haltWhereSwapped()
    return await this.#unlessStopped(this.#endSeen(id))
  }

  /** Listens to it, looks at what was made, and starts it. */
  async #begin(id: string): Promise<{ input: Duplex | null; exited: Promise<void> }> {
    const { stdin, beforeStart, timeoutSeconds, engine, image } = this.#request
    await this.#before('look into', engine.refuseLinks(id, image))
    const listening = this.#attach(id, 'output').then(stream => this.#output.listen(stream))
    await Promise.all([listening, this.#check(id)])
    const input = stdin === null ? null : await this.#attach(id, 'stdin')
    await beforeStart?.(id)
    this.#refuseSwapped()
    this.#refuseDeaf()
    const exited = this.#watch.ended(id)
    exited.catch(() => {})
    // It may run before an engine says so.
    const onTimeout = () => this.#halt({ kind: 'timed_out', seconds: timeoutSeconds })
    this.#timer = setTimeout(onTimeout, timeoutSeconds * 1_000)
    await this.#unlessStopped(this.#start(id))
    return { input, exited }
  }

  async #unlessStopped<T>(act: Promise<T>): Promise<T> {
    return await Promise.race([act, this.#stop.promise])
  }

  /** One that is made only after the run was told to stop is removed all the same. */
  async #create(): Promise<string> {
    const { engine } = this.#request
    if (this.#isStopped) await this.#stop.promise
    const refusal = noteContainer(engine)
    if (refusal !== null && process.platform === 'linux') {
      forgetContainer()
      const message = `the container could not be noted for whoever comes after agentctl: ${refusal}; nothing ran, make room or correct the owner of that place`
      throw new Stopped({ kind: 'spawn_failed', code: 'not_noted', message })
    }
    this.#mayExist = true
    const creating = engine.create(this.#spec).then(
      id => {
        this.#controls.container = id
        if (this.#isRemoved) void engine.remove(id).then(forgetContainer, () => {})
        return id
      },
      (error: unknown) => {
        // Only an answer says that none was made.
        if (error instanceof EngineFault && error.status !== null) {
          this.#mayExist = false
          forgetContainer()
        }
        throw error
      },
    )
    try {
      return await this.#before('create', creating)
    } catch (error) {
      await within(lateCreateMilliseconds, creating)
      throw error
    }
  }

  /** A connection that ends with the container's life, whoever still waits for it: an engine keeps it open for ever. */
  async #attach(id: string, what: 'output' | 'stdin'): Promise<Duplex> {
    const attaching = this.#request.engine.attach(id, what).then(stream => {
      // A command that does not read all of it, or is gone, ends as it ends: that is its result.
      stream.on('error', () => {})
      const { signal } = this.#over
      if (signal.aborted) stream.destroy()
      else signal.addEventListener('abort', () => stream.destroy(), { once: true })
      return stream
    })
    return await this.#before('attach', attaching)
  }

  /** A step before the start: whatever fails in it, nothing of the command has run. */
  async #before<T>(step: string, act: Promise<T>): Promise<T> {
    const told = act.catch((error: unknown) => {
      throw new Stopped(startFault(step, error, this.#request))
    })
    return await this.#unlessStopped(told)
  }

  /** What the engine made is compared with what was asked for, each control: a difference starts nothing. */
  async #check(id: string): Promise<void> {
    const { engine } = this.#request
    const state = await this.#before('inspect', engine.inspect(id))
    const asked = engine.asked(this.#spec)
    this.#controls.inspected = state?.controls ?? {}
    const different = Object.keys(asked).filter(name => asked[name] !== state?.controls[name])
    if (different.length === 0) return
    const message = `${engine.kind} does not show ${different.join(', ')} of the container as asked for; it was not started`
    throw new Stopped({ kind: 'spawn_failed', code: 'control_not_in_force', message })
  }

  /** The engine opens the path again: it must still be the directory that was decided about. */
  #refuseSwapped(): void {
    const { cwd, engine } = this.#request
    if (!isSame(cwd)) {
      const message = `the working directory ${cwd.path} is another one than was checked; nothing ran, run the task again`
      throw new Stopped({ kind: 'spawn_failed', code: 'cwd_changed', message })
    }
    try {
      refuseNested(cwd, engine)
    } catch (error) {
      throw new Stopped(startFault('start', error, this.#request))
    }
  }

  /** Nothing of it would be heard. */
  #refuseDeaf(): void {
    if (!this.#output.hasEnded) return
    const message = 'the connection for its output was closed before it was started; nothing ran, run the task again'
    throw new Stopped({ kind: 'spawn_failed', code: 'container_failed', message })
  }

  /** Once it was started: what it saw of another directory cannot be taken back. */
  #haltWhereSwapped(): void {
    const { cwd } = this.#request
    if (isSame(cwd)) return
    const message = `the working directory ${cwd.path} was replaced while the container was started, which may have seen another one`
    this.#halt({ kind: 'lost', message })
  }

  async #start(id: string): Promise<void> {
    const { engine } = this.#request
    this.#wasStarted = true
    this.#controls.init = { notReadable: 'it was stopped before it was looked at' }
    try {
      await engine.start(id)
    } catch (error) {
      const state = await engine.inspect(id).catch(() => null)
      // Only where the engine answered, and says that it never ran, is that known: without an answer it may start it yet,
      // and what has printed something ran.
      const isAnswered = error instanceof EngineFault && error.status !== null
      if (isAnswered && !this.#output.wasHeard && state !== null && !state.started && !state.running)
        throw new Stopped(startFault('start', error, this.#request))
      throw new Stopped({ kind: 'lost', message: `the engine failed at the start: ${describeError(error)}` })
    }
  }

  async #lookAtFirst(id: string): Promise<void> {
    const { init, fault } = await this.#first.look(id, state => void this.#watch.isSameStart(state))
    this.#controls.init = init
    if (fault !== null) this.#halt({ kind: 'lost', message: `${fault}; it was killed` })
  }

  /** Its end with all of its output. */
  async #endSeen(id: string): Promise<ProcessEnd> {
    if (!(await this.#output.drained())) return { kind: 'lost', message: "the container's output did not end with it" }
    const state = this.#watch.state ?? (await this.#request.engine.inspect(id))
    this.#watch.state = state
    const { memoryLimitBytes } = this.#request
    const code = state?.exitCode ?? null
    if (code === null) return { kind: 'lost', message: 'the engine gave no exit code' }
    const ranOut = state?.oomKilled === true || memoryRanOut(this.#spec.cgroupParent, memoryLimitBytes)
    this.#controls.memoryRanOut = ranOut
    if (code !== 0 && ranOut) return { kind: 'limit_exceeded', limit: 'memory', amount: memoryLimitBytes }
    return code === 137 ? { kind: 'signalled', signal: 'SIGKILL' } : { kind: 'exited', code }
  }

  #halt(end: ProcessEnd): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#output.close()
    this.#stop.reject(new Stopped(end))
  }

  async #remove(milliseconds: number): Promise<boolean> {
    const { engine } = this.#request
    this.#isRemoved = true
    const id = this.#controls.container
    if (id === '') return !this.#mayExist
    return await removeContainer({
      engine,
      id,
      init: this.#first.seen,
      cgroupParent: this.#spec.cgroupParent,
      mayRun: this.#wasStarted && this.#watch.state === null,
      milliseconds,
    })
  }
}

/** Whether the path still leads to the directory that is held. */
function isSame({ fd, path: place }: ContainerProcess['cwd']): boolean {
  if (fd === null) return true
  try {
    const { dev, ino } = statSync(place)
    return `${dev}:${ino}` === identityOf(fd)
  } catch {
    return false
  }
}

function reasonOf({ reason }: AbortSignal): string {
  return reason instanceof Error ? reason.message : String(reason ?? 'cancelled')
}
