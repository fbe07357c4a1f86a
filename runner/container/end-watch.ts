import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../../policy/redact.ts'
import type { ProcessEnd } from '../executor.ts'
import { type ContainerState, type Engine, EngineFault } from './engine.ts'
import type { ContainerOutput } from './output.ts'

/** How often a silent container is looked at, and how often at most once its output has ended. */
const watchMilliseconds = 5_000
const lookMilliseconds = 500
/**
 * Neither engine ends the output of a container that runs, also where its program has closed it. How long one may still be
 * shown as running afterwards, how long another connection may then stay open, and how long until it counts as broken off.
 */
const endingMilliseconds = 250
const againMilliseconds = 2_000
const brokenMilliseconds = 2_500

/**
 * Finds out that one container is over: told by the engine, or by its output's end, or seen. `halt` hears of what makes
 * its end unknown: an engine that is gone, a container that somebody else removed or started again.
 */
export class EndWatch {
  readonly #engine: Engine
  readonly #output: ContainerOutput
  readonly #halt: (end: ProcessEnd) => void
  /** Whether its first process is seen alive; answers once that can be known. */
  readonly #lives: () => Promise<boolean>
  /** Once aborted nobody waits for it any more. */
  readonly #over: AbortSignal
  #startedAt: string | null = null
  /** As it was seen over; null until then. */
  state: ContainerState | null = null

  constructor(
    engine: Engine,
    output: ContainerOutput,
    lives: () => Promise<boolean>,
    over: AbortSignal,
    halt: (end: ProcessEnd) => void,
  ) {
    this.#engine = engine
    this.#output = output
    this.#lives = lives
    this.#over = over
    this.#halt = halt
  }

  /** Asked before the start; resolves once it is over, or nobody waits: Podman tells nobody of one that was quick. */
  async ended(id: string): Promise<void> {
    const told = this.#engine.wait(id, this.#over).catch((error: unknown) => {
      if (this.#over.aborted) return
      if (error instanceof EngineFault && error.status !== null) return
      this.#lost(`the engine was lost while it ran: ${describeError(error)}`)
    })
    await Promise.race([told.then(async () => void (await this.#seenOver(id, 1))), this.#watch(id)])
  }

  /** Whether the state is that of the start which was asked for here: another one has output and an end of its own. */
  isSameStart({ started, startedAt }: ContainerState): boolean {
    if (!started) return true
    this.#startedAt ??= startedAt
    return this.#startedAt === startedAt
  }

  async #watch(id: string): Promise<void> {
    while (!this.#output.hasEnded) {
      if (this.#over.aborted) return
      await Promise.race([sleep(watchMilliseconds, null, { ref: false }), this.#output.ended])
      if (this.#output.hasEnded && (await this.#lives())) this.#lost('its output broke off while it ran')
      if (await this.#isOver(id)) return
    }
    const endedAt = performance.now()
    const isOverWithin = (milliseconds: number) => this.#seenOver(id, 2, endedAt + milliseconds)
    if (await isOverWithin(endingMilliseconds)) return
    if ((await this.#hasMoreOutput(id)) || !(await isOverWithin(brokenMilliseconds)))
      this.#lost('its output broke off while it ran')
  }

  /** Whether another connection for the output of a running container stays open, or brings more. */
  async #hasMoreOutput(id: string): Promise<boolean> {
    let stream: Duplex
    try {
      stream = await this.#engine.attach(id, 'output')
    } catch {
      return false
    }
    const more = Promise.withResolvers<boolean>()
    stream.on('data', () => more.resolve(true))
    stream.on('error', () => more.resolve(false))
    stream.on('close', () => more.resolve(false))
    const hasMore = await Promise.race([more.promise, sleep(againMilliseconds, true, { ref: false })])
    stream.destroy()
    return hasMore
  }

  /** Looks until it is over, ever more slowly; whether it was in time, or nobody waits any more. */
  async #seenOver(id: string, pause: number, until = Number.POSITIVE_INFINITY): Promise<boolean> {
    for (let next = pause; !this.#over.aborted; next = Math.min(next * 2, lookMilliseconds)) {
      if (await this.#isOver(id)) return true
      if (performance.now() > until) return false
      await sleep(next)
    }
    return true
  }

  /** An engine that does not answer says nothing; one that is gone has lost it. */
  async #isOver(id: string): Promise<boolean> {
    try {
      const state = await this.#engine.inspect(id)
      if (state === null) this.#lost('the container was removed by somebody else')
      else if (!this.isSameStart(state)) this.#lost('the container was started again by somebody else')
      else if (state.over) this.state = state
      return state === null || state.over
    } catch (error) {
      const isGone =
        error instanceof EngineFault && ['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE'].includes(error.code)
      if (isGone) this.#lost(`the engine is gone: ${describeError(error)}`)
      return isGone
    }
  }

  #lost(message: string): void {
    this.#halt({ kind: 'lost', message })
  }
}
