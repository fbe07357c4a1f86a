import type { Captured, ProcessEnd } from '../executor.ts'
import type { Directory } from '../facts/directory.ts'
import type { OutputLimits, StreamName } from '../process/capture.ts'
import type { CheckedImage, Engine } from './engine.ts'

export type { CheckedImage, ContainerState, Engine, EngineKind } from './engine.ts'

/** One command in one container, bounded as a host process is; every other control is fixed. */
export interface ContainerProcess {
  engine: Engine
  image: CheckedImage
  command: string
  args: readonly string[]
  /** Bound read-only at /workspace; its device and inode are those that the container must see. */
  cwd: Directory
  /** The declared variables with their values; the image's PATH, HOME and HOSTNAME come beside them, nothing else. */
  environment: { [name: string]: string }
  /** What it reads, and then its end; null = nothing. */
  stdin: Uint8Array | null
  timeoutSeconds: number
  limits: OutputLimits
  memoryLimitBytes: number
  cpuLimitMillis: number
  pidsLimit: number
  onOutput(stream: StreamName, chunk: Uint8Array): void
  signal: AbortSignal
  /** Ids of the run and of the effect, for its labels. */
  run: string
  effect: string
}

/** What was seen in force, of the engine's inspect and of the first process where /proc shows it. */
export interface ControlsFound {
  engine: { kind: string; version: string; address: string }
  image: { reference: string; id: string }
  /** By name, as the engine's inspect shows them; empty where no container was made. */
  inspected: { [name: string]: string | number | boolean }
  /** Of /proc/<init>; null with the reason where it could not be read, such as that it had ended already. */
  init:
    | { capBnd: string; noNewPrivs: string; seccomp: string; uid: string; cwdIsSame: boolean }
    | { notReadable: string }
  /** Whether memory ran out while it lived, as far as there is evidence. */
  memoryRanOut: boolean
  /** The container was looked up once more at the end, and was gone. */
  removed: boolean
}

export interface RunningContainer {
  /**
   * The same ends as those of a host process. `exitCode` is the number that the engine gave, whatever the end was: 137 is
   * both that of SIGKILL and a number that a program may choose; null where none was seen.
   */
  wait: Promise<{ end: ProcessEnd; captured: Captured; controls: ControlsFound; exitCode: number | null }>
  /** Kills and removes it; resolves when it is gone. */
  kill(reason: string): Promise<void>
}

export { findEngine } from './find-engine.ts'
export { runContainer } from './run-container.ts'
