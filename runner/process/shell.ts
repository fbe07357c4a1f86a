import type { Json } from '../../policy/json.ts'
import { settled } from '../builtin/prepared.ts'
import type { Captured, EffectResult, Executor, Running } from '../executor.ts'
import type { Host } from '../host.ts'
import { collecting } from './collecting.ts'
import { enforcementOf } from './enforcement.ts'
import { isRetrySafe, prepareProcess, type ReadyProcess } from './prepare.ts'
import { resultOfEnd } from './process-result.ts'
import { liveOutput, startProcess } from './start.ts'

/** builtin.shell.exec: one bounded process, of the host (not a sandbox) or in a container. */
export function shellExecutor(host: Host): Executor {
  return {
    kinds: ['builtin.shell.exec'],
    async prepare(request) {
      return await prepareProcess(host, request, { start: run })
    },
  }
}

function run(ready: ReadyProcess, signal: AbortSignal): Running {
  const { host, request } = ready
  const collect = collecting(ready)
  const live = liveOutput(host, request.task.id)
  const running = startProcess(ready, { onOutput: live.push, signal })
  if ('refused' in running) return settled({ kind: 'failed', ...running.refused, output: null })
  const wait = running.wait.then((ended): EffectResult => {
    const { end, captured, containment, exitCode = null } = ended
    live.end()
    const output = outputOf(host, end.kind === 'exited' ? end.code : exitCode, captured)
    const result = resultOfEnd(end, output, isRetrySafe(request), containment.left)
    return { ...collect(result), enforcement: enforcementOf([...ready.held, ended]) }
  })
  return { wait, kill: reason => running.kill(reason) }
}

function outputOf(host: Host, exitCode: number | null, captured: Captured): Json {
  const text = (bytes: Uint8Array) =>
    host.secrets.redactor.text(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  return { status: 'changed', changed: true, exitCode, stdout: text(captured.stdout), stderr: text(captured.stderr) }
}
