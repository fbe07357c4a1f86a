import type { ExpectedEffect } from '../../policy/approval/record.ts'
import type { Binding } from '../../policy/binding.ts'
import type { Facts } from '../../policy/decision/facts.ts'
import type { JsonObject } from '../../policy/json.ts'
import type { Captured, Containment, ProcessEnd } from '../executor.ts'
import type { OutputLimits, StreamName } from './capture.ts'

type Shown = Extract<ExpectedEffect, { kind: 'process' | 'container' }>

/** Where the processes of one action run, everything about it checked and held: on the host or in a container. */
export interface ProcessTarget {
  facts: Facts
  binding: Binding
  /** What an approval shows, but for what the kind of action adds. */
  expected: Shown
  /** What was changed since it was checked; null = nothing. */
  changed(): { code: string; message: string } | null
  start(bounds: ProcessBounds): StartedProcess
  close(): void
}

/** One process within the action's bounds. */
export interface ProcessBounds {
  args: readonly string[]
  /** The whole environment of the child. */
  environment: { [name: string]: string }
  /** What it reads, null = nothing. */
  stdin: Uint8Array | null
  timeoutSeconds: number
  limits: OutputLimits
  onOutput(stream: StreamName, chunk: Uint8Array): void
  signal: AbortSignal
}

export interface StartedProcess {
  wait: Promise<EndedProcess>
  kill(reason: string): Promise<void>
}

export interface EndedProcess {
  end: ProcessEnd
  captured: Captured
  containment: Containment
  /** Of a container: the controls that were found in force, for the record. */
  container?: JsonObject
  /** The number that an engine gave, where `end` does not tell it. */
  exitCode?: number | null
}
