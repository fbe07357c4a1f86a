import type { LedgerStore } from '../../ledger/index.ts'
import type { EffectRecord } from '../../ledger/port.ts'
import type { Json } from '../../policy/json.ts'
import type { Handler } from '../command.ts'
import { CliError, exits } from '../failure.ts'
import { recordOf, withLedger } from '../ledger.ts'

/** `effects list RUN`: a run's effects in plan order. */
export const effectsList: Handler = async (context, [run = '']) =>
  withLedger(context, ({ store }) => {
    const effects = store.effects(recordOf(store, run).run)
    return {
      kind: 'EffectList',
      exitCode: exits.done,
      data: { effects: effects as unknown as Json },
      findings: [],
      lines:
        effects.length === 0
          ? [`run ${run} has no effects`]
          : effects.map(one => [['cyan', one.effect], ` ${effectWords(one)}`]),
    }
  })

/** `effects inspect EFFECT`: the whole record of one effect. */
export const effectsInspect: Handler = async (context, [id = '']) =>
  withLedger(context, ({ store }) => {
    const effect = effectOf(store, id)
    return {
      kind: 'Effect',
      exitCode: exits.done,
      data: { effect: effect as unknown as Json },
      findings: [],
      lines: JSON.stringify(effect, null, 2).split('\n'),
    }
  })

/** Task, operation and state of an effect; what was undone later has not failed in itself, and says so. */
export function effectWords({ task, operation, state, error }: EffectRecord): string {
  return `${task} ${operation} ${state}${error?.code === 'compensated' ? ' (compensated)' : ''}`
}

/** The record of an effect. Throws CliError, exit 2, where there is none. */
export function effectOf(store: LedgerStore, id: string): EffectRecord {
  const effect = store.effect(id)
  if (effect !== null) return effect
  throw new CliError('effect_not_found', `there is no effect ${id} in this ledger`, {
    help: 'see agentctl effects list RUN, and check the ledger file: --db FILE',
  })
}
