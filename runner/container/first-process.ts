import { setTimeout as sleep } from 'node:timers/promises'
import { type Seen, seeProcess, seesAllProcesses } from '../process/containment/proc.ts'
import type { ContainerProcess, ControlsFound } from './container.ts'
import type { ContainerState } from './engine.ts'
import { initFaults, readInit } from './init.ts'
import { firstBelow } from './members.ts'
import type { ContainerOutput } from './output.ts'
import { isThere } from './removal.ts'

/** A container that has ended within this time after its start is asked about once, and not twice. */
const quickMilliseconds = 10
/** How long an engine may show a process as running that is not seen, and how often that is looked at. */
const unseenMilliseconds = 1_000
const againMilliseconds = 50

/** What a look at it found; `fault` says why the container must not go on, null = no reason. */
export interface FirstLook {
  init: ControlsFound['init']
  fault: string | null
}

/** The first process of one container, as this host's /proc shows it. */
export class FirstProcess {
  readonly #request: Pick<ContainerProcess, 'engine' | 'cwd'>
  readonly #cgroupParent: string | null
  readonly #output: ContainerOutput
  /** Resolves once it is known whether it was seen. */
  readonly #looked = Promise.withResolvers<void>()
  /** It was this one; null where it was not seen. */
  seen: Seen | null = null

  /** `cgroupParent` is the cgroup that holds its container and no other; null = the engine's own. */
  constructor(request: Pick<ContainerProcess, 'engine' | 'cwd'>, cgroupParent: string | null, output: ContainerOutput) {
    this.#request = request
    this.#cgroupParent = cgroupParent
    this.#output = output
  }

  /** Whether it is seen alive; answers once `look` knows. */
  async lives(): Promise<boolean> {
    await this.#looked.promise
    return isThere(this.seen)
  }

  /** Reads what holds it, once its container was started. `onState` hears the engine's word on that start, if it was asked. */
  async look(id: string, onState: (state: ContainerState) => void): Promise<FirstLook> {
    const { engine, cwd } = this.#request
    const found = this.#cgroupParent === null ? null : firstBelow(this.#cgroupParent)
    const asking = this.#stateOfStart(id, found !== null, onState)
    if (!engine.isLocal) {
      this.#looked.resolve()
      return { init: { notReadable: 'its processes are not those of this host' }, fault: null }
    }
    const pid = found ?? (await asking)?.pid ?? 0
    if (pid > 0) this.seen = seeProcess(pid)
    this.#looked.resolve()
    const init = await readInit(pid, cwd)
    await asking
    if ('notReadable' in init) return { init, fault: (await this.#runsUnseen(id, pid)) ? this.#elsewhere() : null }
    const faults = initFaults(init)
    if (faults.length === 0) return { init, fault: null }
    return { init, fault: `${faults.join(', ')} of the container's first process is not as asked for` }
  }

  /** As it is after the start, which it is then known by; where nothing waits for that, null for one that ends at once. */
  async #stateOfStart(
    id: string,
    mayWait: boolean,
    onState: (state: ContainerState) => void,
  ): Promise<ContainerState | null> {
    if (mayWait) {
      await Promise.race([this.#output.ended, sleep(quickMilliseconds)])
      if (this.#output.hasEnded) return null
    }
    const state = await this.#request.engine.inspect(id).catch(() => null)
    if (state !== null) onState(state)
    return state
  }

  /** What is not seen here and runs for the engine is a process of another system, or of another pid namespace. */
  async #runsUnseen(id: string, pid: number): Promise<boolean> {
    if (pid === 0 || seesAllProcesses()) return false
    const deadline = performance.now() + unseenMilliseconds
    // An engine shows one that has just ended as running for a moment.
    while (performance.now() < deadline) {
      await sleep(againMilliseconds)
      if (this.#output.hasEnded || seeProcess(pid) !== null) return false
      const state = await this.#request.engine.inspect(id).catch(() => null)
      if (state?.running !== true || state.pid !== pid) return false
    }
    return true
  }

  #elsewhere(): string {
    const { kind, address } = this.#request.engine
    return `${kind} at ${address} runs in another pid namespace than agentctl, so that what it sees is not known`
  }
}
