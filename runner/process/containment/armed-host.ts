import { describeError } from '../../../policy/redact.ts'
import type { Containment } from '../../executor.ts'
import type { Native, NativeLayer } from '../../native/native.ts'
import type { MainProcess } from '../main-process.ts'

/** agentctl made ready to start processes of effects: what it holds them with, and what of it could not be had. */
export interface ArmedHost {
  /** null where there is none: Node starts the processes then. */
  readonly native: Native | null
  readonly absent: Containment['absent']
  /** Something to wait for before the next start; null = nothing. After it, ask again. */
  ready(): Promise<void> | null
  /**
   * Starts one process of an effect: `spawn` gets the descriptor to hand on as 3, null where there is none, and must be
   * synchronous. What it throws is passed on. Throws StartRefused.
   */
  start(effect: string, spawn: (marker: number | null) => MainProcess): Held
  /** Ends at once what still runs, and takes back what agentctl made on the host. */
  close(): void
}

/** The processes of one effect, held together while they run and ended together (03, Containment). */
export interface Held {
  readonly child: MainProcess
  /** Asks everyone to end: the group, and who has left it. */
  terminate(): void
  /** Whether nothing is left that could be asked. */
  isEmpty(): boolean
  /** Kills what is left, and proves that it is gone or names it. Once. */
  end(budgetMilliseconds: number): Promise<Containment>
}

/** For tests; a run has the defaults. */
export interface ArmOptions {
  /** Default: koffi's. */
  native?: NativeLayer
  /** Does without cgroups where `best-effort`. */
  containment?: 'best-effort'
  /** Default: `registryPlaces` of this user. */
  registry?: readonly string[]
}

/** A process that must not be started here: a named, definite reason. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** What `act` answers. Throws StartRefused `containment_failed` for whatever it throws: never an error of the program's. */
export function refusing<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (error instanceof StartRefused) throw error
    throw new StartRefused(
      'containment_failed',
      `agentctl could not make ready what holds the process, so it was not started: ${describeError(error)}; nothing of it ran, and the host's cgroups and registry are to be looked at`,
    )
  }
}
