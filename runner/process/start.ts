import type { Host } from '../host.ts'
import type { StreamName } from './capture.ts'
import { timeoutOf } from './command.ts'
import type { ReadyProcess } from './prepare.ts'
import type { StartedProcess } from './target.ts'

/** What differs between the processes of one action. */
export interface ProcessStart {
  /** After the declared arguments. */
  added?: readonly string[]
  /** What it reads, null = nothing. */
  stdin?: Uint8Array | null
  /** Of the action's time, how much earlier processes of the effect have used. */
  usedMilliseconds?: number
  /** Of the run's output, how much they have printed. */
  printedBytes?: number
  onOutput(stream: StreamName, chunk: Uint8Array): void
  signal: AbortSignal
}

/** Starts a process within the action's bounds, or tells what was changed since it was checked: then nothing ran. */
export function startProcess(
  ready: ReadyProcess,
  start: ProcessStart,
): StartedProcess | { changed: { code: string; message: string } } {
  const { request, command, target, environment } = ready
  const changed = target.changed()
  if (changed !== null) return { changed }
  const outputLeft = (request.outputBytesLeft ?? Number.MAX_SAFE_INTEGER) - (start.printedBytes ?? 0)
  return target.start({
    args: [...command.args, ...(start.added ?? [])],
    environment,
    stdin: start.stdin ?? null,
    timeoutSeconds: Math.max(0, timeoutOf(request, command) - (start.usedMilliseconds ?? 0) / 1_000),
    limits: {
      stdout: command.stdoutLimitBytes,
      stderr: command.stderrLimitBytes,
      combined: Math.min(command.combinedOutputLimitBytes, Math.max(0, outputLeft)),
    },
    onOutput: start.onOutput,
    signal: start.signal,
  })
}

/** Streams of a process as they come, redacted across chunk borders. */
export function liveOutput(host: Host, task: string) {
  const streams = { stdout: host.secrets.redactor.stream(), stderr: host.secrets.redactor.stream() }
  const say = (stream: StreamName, text: string) => {
    if (text !== '') host.output(task, stream, text)
  }
  return {
    push: (stream: StreamName, chunk: Uint8Array) => say(stream, streams[stream].push(chunk)),
    end() {
      say('stdout', streams.stdout.end())
      say('stderr', streams.stderr.end())
    },
  }
}
