import type { PlanExtension } from '../../policy/document/plan.ts'
import type { Json } from '../../policy/json.ts'
import type { JsonSchemas } from '../../policy/json-schema/types.ts'
import type { Captured, EffectResult, ProcessEnd, Running } from '../executor.ts'
import { collecting } from '../process/collecting.ts'
import { enforcementOf, type HeldProcess } from '../process/enforcement.ts'
import { isRetrySafe, type ReadyProcess } from '../process/prepare.ts'
import { resultOfEnd } from '../process/process-result.ts'
import { liveOutput, type ProcessStart, startProcess } from '../process/start.ts'
import type { EndedProcess } from '../process/target.ts'
import { handshakeArgument, handshakeFault } from './handshake.ts'
import { invocation, invokeArgument, readReply } from './invocation.ts'

/** Handshake, then invocation. Until the second process has started nothing was invoked, so that every end is definite. */
export function runExtension(
  ready: ReadyProcess,
  extension: PlanExtension,
  schemas: JsonSchemas,
  signal: AbortSignal,
): Running {
  const killing = new AbortController()
  const wait = new Effect(ready, extension, schemas, AbortSignal.any([signal, killing.signal])).run()
  return {
    wait,
    async kill(reason) {
      killing.abort(new Error(reason))
      await wait
    },
  }
}

type Ended = EndedProcess

/** One effect of an extension, both its processes. */
class Effect {
  readonly #ready: ReadyProcess
  readonly #extension: PlanExtension
  readonly #schemas: JsonSchemas
  readonly #signal: AbortSignal
  /** How its processes were held, in their order. */
  readonly #held: HeldProcess[]

  constructor(ready: ReadyProcess, extension: PlanExtension, schemas: JsonSchemas, signal: AbortSignal) {
    this.#ready = ready
    this.#extension = extension
    this.#schemas = schemas
    this.#signal = signal
    this.#held = [...ready.held]
  }

  async run(): Promise<EffectResult> {
    const result = await this.#shakeThenInvoke()
    return this.#held.length === 0 ? result : { ...result, enforcement: enforcementOf(this.#held) }
  }

  async #shakeThenInvoke(): Promise<EffectResult> {
    const collect = collecting(this.#ready)
    const began = performance.now()
    const shaken = await this.#process({ added: [handshakeArgument] })
    if ('kind' in shaken) return shaken
    const refusal = this.#handshakeResult(shaken)
    if (refusal !== null) return refusal
    if (this.#signal.aborted) return { kind: 'cancelled', message: `${reasonOf(this.#signal)}; nothing was invoked` }

    const { request } = this.#ready
    const invoked = await this.#process({
      added: [invokeArgument],
      stdin: invocation(this.#extension, request.effectId, request.input),
      usedMilliseconds: performance.now() - began,
      printedBytes: shaken.captured.stdout.length + shaken.captured.stderr.length,
    })
    return 'kind' in invoked ? invoked : collect(this.#replyResult(invoked))
  }

  /** Runs one process to its end; a result where what was checked has changed and nothing ran. */
  async #process(start: Omit<ProcessStart, 'onOutput' | 'signal'>): Promise<Ended | EffectResult> {
    const { host, request } = this.#ready
    const live = liveOutput(host, request.task.id)
    // What it says on stdout is the protocol's, for agentctl alone.
    const onOutput: ProcessStart['onOutput'] = (stream, chunk) => {
      if (stream === 'stderr') live.push(stream, chunk)
    }
    const running = startProcess(this.#ready, { ...start, onOutput, signal: this.#signal })
    if ('refused' in running) return { kind: 'failed', ...running.refused, output: null }
    const ended = await running.wait
    live.end()
    this.#held.push(ended)
    return ended
  }

  /** Why nothing is invoked, null where the handshake is as declared. */
  #handshakeResult({ end, captured, containment }: Ended): EffectResult | null {
    const output = this.#told(end, captured)
    const retrySafe = isRetrySafe(this.#ready.request)
    if (end.kind === 'exited' && end.code === 0) {
      const fault = handshakeFault(captured.stdout, this.#extension)
      return fault && { kind: 'failed', ...fault, output, retrySafe }
    }
    if (end.kind === 'cancelled') return { kind: 'cancelled', message: `${end.reason}; nothing was invoked` }
    const ended = resultOfEnd(end, output, retrySafe, containment.left)
    if (end.kind === 'spawn_failed' || !('code' in ended)) return ended
    const message = `the handshake failed and nothing was invoked: ${ended.message}`
    if (ended.code === 'budget_exceeded') return { ...ended, kind: 'failed', message, retrySafe: false }
    return { kind: 'failed', code: `handshake_${ended.code}`, message, output, retrySafe }
  }

  #replyResult({ end, captured, containment }: Ended): EffectResult {
    const { request, host } = this.#ready
    const told = this.#told(end, captured)
    if (end.kind === 'exited' && end.code === 0) {
      const reply = readReply(captured.stdout, this.#extension, request.effectId, this.#schemas)
      if (!reply.ok) return { kind: 'uncertain', code: reply.code, message: reply.message, output: told }
      return { kind: 'succeeded', output: host.secrets.redactor.json(reply.output), artifacts: [] }
    }
    const ended = resultOfEnd(end, told, isRetrySafe(request), containment.left)
    if (ended.kind !== 'failed' || end.kind === 'spawn_failed') return ended
    const message = `${ended.message}; what it had done by then is not known`
    return { kind: 'uncertain', code: ended.code, message, output: told }
  }

  /** What helps to find out why an effect did not succeed. */
  #told(end: ProcessEnd, { stderr }: Captured): Json {
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(stderr)
    const exitCode = end.kind === 'exited' ? end.code : null
    return { exitCode, stderr: this.#ready.host.secrets.redactor.text(text) }
  }
}

function reasonOf({ reason }: AbortSignal): string {
  return reason instanceof Error ? reason.message : String(reason ?? 'cancelled')
}
