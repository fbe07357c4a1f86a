import type { Captured, ProcessEnd } from '../executor.ts'
import type { Directory } from '../facts/directory.ts'
import type { OutputLimits, StreamName } from '../process/capture.ts'
import type { CheckedImage, Controls, Engine } from './engine.ts'
import type { InitControls } from './init.ts'

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
  /** For tests: between its creation and its start; absent = nothing. */
  beforeStart?(container: string): Promise<void>
}

/** What was found in force while it lived. */
export interface ControlsFound {
  engine: { kind: string; version: string; address: string }
  image: { reference: string; id: string }
  /** By name, as the engine's inspect showed them before the start; empty where no container was made. */
  inspected: Controls
  /** Of the first process, where /proc shows it. */
  init: InitControls | { notReadable: string }
  /** Whether there is evidence that memory ran out while it lived. */
  memoryRanOut: boolean
  /** Looked up once more at the end, it was gone; true also where none was made. */
  removed: boolean
  /** Its id, empty where none was made. */
  container: string
}

/**
 * How it ended, as a host process ends. `exitCode` is the number that the engine gave, whatever the end was: 137 is what
 * SIGKILL leaves and a number that a program may choose, an end by SIGKILL here; null where none was seen.
 */
export interface ContainerResult {
  end: ProcessEnd
  captured: Captured
  controls: ControlsFound
  exitCode: number | null
}

export interface RunningContainer {
  wait: Promise<ContainerResult>
  /** Kills and removes it; resolves when it is gone. */
  kill(reason: string): Promise<void>
}

export { refuseDoors } from './doors.ts'
export { findEngine } from './find-engine.ts'
export { refuseNested } from './nested-mounts.ts'
export { runContainer } from './run-container.ts'
