import type { PlanCommand } from '../../policy/document/plan.ts'
import type { Json, JsonObject } from '../../policy/json.ts'
import { settled } from '../builtin/prepared.ts'
import {
  type Captured,
  type EffectResult,
  type ExecutionRequest,
  type Executor,
  ExecutorError,
  type Prepared,
} from '../executor.ts'
import { CommandFault } from '../facts/executable.ts'
import { processBinding } from '../facts/process-binding.ts'
import { changedSince, closeProcessPlace, type ProcessPlace, processFact } from '../facts/process-fact.ts'
import type { Host } from '../host.ts'
import type { StreamName } from './capture.ts'
import { collectArtifacts, listArtifacts } from './collect-artifacts.ts'
import { checkArguments, commandOf, limitsOf, timeoutOf } from './command.ts'
import { runHostProcess } from './host-process.ts'
import { resultOfEnd } from './process-result.ts'

/** builtin.shell.exec with `isolation: process`: one bounded process of the host. Not a sandbox. */
export function shellExecutor(host: Host): Executor {
  return {
    kinds: ['builtin.shell.exec'],
    async prepare(request) {
      const command = commandOf(request)
      checkArguments(command)
      const environment = Object.fromEntries(
        Object.entries(command.env).map(([name, reference]) => [name, host.secrets.read(reference)]),
      )
      const { fact, place } = findProcess(host, command, environment)
      if (place === null) return refusedProcess(request, command, fact)
      return preparedProcess(host, request, command, place, valuesOf(environment))
    },
  }
}

type Environment = { [name: string]: { source: string; value: string | undefined } }

function findProcess(host: Host, command: PlanCommand, environment: Environment) {
  try {
    return processFact(host.workspace, command, {
      temporaryDirectories: host.temporaryDirectories,
      searchPath: host.searchPath,
      environment,
    })
  } catch (error) {
    if (error instanceof CommandFault) throw new ExecutorError(error.code, error.message)
    throw error
  }
}

function valuesOf(environment: Environment): { [name: string]: string } {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, { value }]) => (value === undefined ? [] : [[name, value]])),
  )
}

function refusedProcess(
  request: ExecutionRequest,
  command: PlanCommand,
  fact: ReturnType<typeof processFact>['fact'],
): Prepared {
  return {
    facts: { kind: 'process', process: fact },
    binding: {},
    expected: {
      kind: 'other',
      summary: `runs ${command.command}`,
      detail: { args: command.args, task: request.task.id },
    },
    predictability: 'none',
    unchanged: null,
    start: () =>
      settled({
        kind: 'failed',
        code: 'unknown_process',
        message: 'the process is not known',
        output: null,
        retrySafe: false,
      }),
    close() {},
  }
}

function preparedProcess(
  host: Host,
  request: ExecutionRequest,
  command: PlanCommand,
  place: ProcessPlace,
  values: { [name: string]: string },
): Prepared {
  const { fact } = place
  let open = true
  return {
    facts: { kind: 'process', process: fact },
    binding: processBinding(fact),
    expected: {
      kind: 'process',
      command: command.command,
      realPath: fact.realPath,
      executableSha256: fact.sha256,
      interpreters: fact.interpreters.map(({ path, sha256 }) => ({ path, sha256 })),
      args: command.args,
      cwd: fact.cwd,
      environment: Object.keys(command.env),
      argvFiles: fact.argvFiles,
      limits: limitsOf(request, command),
    },
    predictability: 'none',
    unchanged: null,
    start(signal) {
      const changed = changedSince(place)
      if (changed !== null) return settled({ kind: 'failed', ...changed, output: null, retrySafe: true })
      const before = command.artifacts.length > 0 ? listArtifacts(host.workspace, command.artifacts) : new Map()
      const live = liveOutput(host, request.task.id)
      const running = runHostProcess({
        executable: place.executable,
        argv0: command.command,
        args: command.args,
        cwd: place.cwd,
        environment: values,
        stdin: null,
        timeoutSeconds: timeoutOf(request, command),
        limits: {
          stdout: command.stdoutLimitBytes,
          stderr: command.stderrLimitBytes,
          combined: Math.min(
            command.combinedOutputLimitBytes,
            Math.max(0, request.outputBytesLeft ?? Number.MAX_SAFE_INTEGER),
          ),
        },
        onOutput: live.push,
        signal,
        effect: request.effectId,
      })
      const wait = running.wait.then(({ end, captured, containment }): EffectResult => {
        live.end()
        const output = outputOf(host, end.kind === 'exited' ? end.code : null, captured)
        const enforcement = { ...containment }
        const result = { ...resultOfEnd(end, output, isRetrySafe(request)), enforcement }
        if (result.kind !== 'succeeded' || command.artifacts.length === 0) return result
        const collected = collectArtifacts(
          host.workspace,
          command.artifacts,
          before,
          host.secrets.redactor,
          request.artifactBytesLeft ?? Number.MAX_SAFE_INTEGER,
        )
        if (collected.ok) return { ...result, artifacts: collected.artifacts }
        const { code, message } = collected
        return { kind: 'failed', code, message, output, retrySafe: false, enforcement }
      })
      return { wait, kill: reason => running.kill(reason) }
    },
    close() {
      if (open) closeProcessPlace(place)
      open = false
    },
  }
}

function isRetrySafe({ task }: ExecutionRequest): boolean {
  return ['pure', 'idempotent', 'keyed'].includes(task.action.idempotency)
}

function outputOf(host: Host, exitCode: number | null, captured: Captured): Json {
  const text = (bytes: Uint8Array) =>
    host.secrets.redactor.text(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  const output: JsonObject = {
    status: 'changed',
    changed: true,
    exitCode,
    stdout: text(captured.stdout),
    stderr: text(captured.stderr),
  }
  return output
}

/** Both streams as they come, redacted across chunk borders. */
function liveOutput(host: Host, task: string) {
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
