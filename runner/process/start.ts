import type { Host } from '../host.ts'
import type { OutputLimits, StreamName } from './capture.ts'
import { timeoutOf } from './command.ts'
import type { ReadyProcess } from './prepare.ts'
import type { EndedProcess, StartedProcess } from './target.ts'

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

/** Why a process was not started, as its effect's failure has it. */
export interface NotStarted {
  code: string
  message: string
  retrySafe: boolean
}

/** Starts a process within the action's bounds, or tells what was changed since it was checked, or used up: then nothing ran. */
export function startProcess(ready: ReadyProcess, start: ProcessStart): StartedProcess | { refused: NotStarted } {
  const { request, command, target, environment } = ready
  const changed = target.changed()
  if (changed !== null) return { refused: { ...changed, retrySafe: true } }
  const outputLeft = (request.outputBytesLeft ?? Number.MAX_SAFE_INTEGER) - (start.printedBytes ?? 0)
  if (outputLeft <= 0) return { refused: outOfOutput }
  const isByBudget = outputLeft < command.combinedOutputLimitBytes
  const limits: OutputLimits = {
    stdout: command.stdoutLimitBytes,
    stderr: command.stderrLimitBytes,
    combined: isByBudget ? outputLeft : command.combinedOutputLimitBytes,
  }
  const started = target.start({
    args: [...command.args, ...(start.added ?? [])],
    environment,
    stdin: start.stdin ?? null,
    timeoutSeconds: Math.max(0, timeoutOf(request, command) - (start.usedMilliseconds ?? 0) / 1_000),
    limits,
    onOutput: start.onOutput,
    signal: start.signal,
  })
  return isByBudget ? { ...started, wait: started.wait.then(asBudget) } : started
}

const outOfOutput: NotStarted = {
  code: 'budget_exceeded',
  message: "the run's budget maxProcessOutputBytes is used up; raise spec.runtime.budgets.maxProcessOutputBytes",
  retrySafe: false,
}

/** What broke the bound of both streams broke the budget, which was the smaller. */
function asBudget(ended: EndedProcess): EndedProcess {
  const { end } = ended
  if (end.kind !== 'output_exceeded' || end.stream !== 'combined') return ended
  return { ...ended, end: { ...end, byBudget: true } }
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
