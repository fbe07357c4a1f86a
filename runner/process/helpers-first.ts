import type { EffectResult, Running } from '../executor.ts'
import type { Variables } from '../secrets/variables.ts'
import { enforcementOf, type HeldProcess } from './enforcement.ts'
import type { ProcessKind, ReadyProcess } from './prepare.ts'

/**
 * Asks the secret helpers of an effect, one after the other, then starts it with what they gave. Until then nothing of the
 * effect itself has run: a helper that gives no value is a definite failure, to be repeated where `retrySafe`.
 */
export function helpersFirst(
  ready: ReadyProcess,
  kind: ProcessKind,
  { asked, retrySafe }: Pick<Variables, 'asked'> & { retrySafe: boolean },
  signal: AbortSignal,
): Running {
  const killing = new AbortController()
  const stop = AbortSignal.any([signal, killing.signal])
  const wait = ask()

  async function ask(): Promise<EffectResult> {
    const values: { [name: string]: string } = {}
    const held: HeldProcess[] = []
    for (const { name, ask: askFor } of asked) {
      const answer = await askFor(stop, ready.request.effectId)
      // What it printed is the secret: not even how much it was is recorded.
      if (answer.containment !== null) held.push({ captured: nothing, containment: answer.containment })
      if (!answer.ok) return withheld(answer, held, retrySafe)
      values[name] = answer.value
    }
    if (stop.aborted) return recorded({ kind: 'cancelled', message: 'the run was cancelled; nothing ran' }, held)
    const environment = { ...ready.environment, ...values }
    return kind.start({ ...ready, environment, held }, stop).wait
  }

  return {
    wait,
    async kill(reason) {
      killing.abort(new Error(reason))
      await wait
    },
  }
}

const nothing = { stdout: new Uint8Array(), stderr: new Uint8Array() }

function withheld(
  { code, message, cancelled }: { code: string; message: string; cancelled: boolean },
  held: readonly HeldProcess[],
  retrySafe: boolean,
): EffectResult {
  const told = `${message}; nothing was run with it`
  if (cancelled) return recorded({ kind: 'cancelled', message: told }, held)
  // One that did not start has done nothing; any other may have had effects of its own.
  return recorded(
    { kind: 'failed', code, message: told, output: null, retrySafe: retrySafe || held.length === 0 },
    held,
  )
}

function recorded(result: EffectResult, held: readonly HeldProcess[]): EffectResult {
  return held.length === 0 ? result : { ...result, enforcement: enforcementOf(held) }
}
