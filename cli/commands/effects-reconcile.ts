import { resolve } from 'node:path'
import { z } from 'zod'
import { type LedgerStore, payloadOf, vouchedFault } from '../../ledger/index.ts'
import type { EffectRecord } from '../../ledger/port.ts'
import type { Json } from '../../policy/json.ts'
import { createRedactor } from '../../policy/redact.ts'
import type { Handler } from '../command.ts'
import { CliError, exits } from '../failure.ts'
import { readWhole } from '../files.ts'
import { localUser, recordOf, withLedger } from '../ledger.ts'
import { ledgerCommand, resumeCommand } from '../next-command.ts'
import { personOf, personOptionsSchema, reasonOf } from '../person.ts'
import { effectOf } from './effects-read.ts'

const optionsSchema = personOptionsSchema.extend({
  status: z.enum(['applied', 'not-applied', 'compensated']),
  evidenceFile: z.string(),
  resultFile: z.string().optional(),
})

/** `effects reconcile EFFECT`: a person's word on an effect that nobody saw end; the run can then be resumed. */
export const effectsReconcile: Handler = async (context, [id = ''], given) => {
  const { status, reason, actor, evidenceFile, resultFile } = optionsSchema.parse(given)
  if (resultFile !== undefined && status !== 'applied')
    throw new CliError('usage', `--result-file goes with --status applied, not with ${status}`, {
      help: 'an effect that did not stay has no result',
    })
  const redactor = createRedactor([])
  const evidence = redactor.json(jsonOrText(readWhole(resolve(context.directory, evidenceFile), evidenceFile)))
  const result = resultFile === undefined ? null : redactor.json(resultOf(context.directory, resultFile))
  const person = personOf(context, actor)
  const why = reasonOf(reason)

  return withLedger(context, async ({ store }) => {
    const { run } = effectOf(store, id)
    if (status === 'applied') await requireFitting(store, effectOf(store, id), result)
    const kept = (value: Json) => payloadOf(value, bytes => store.putBlob(bytes))
    store.control(
      {
        run,
        commands: [
          {
            id: context.ids.uuid(),
            type: 'effect.reconcile',
            effect: id,
            status,
            reason: why,
            evidence: kept(evidence),
            result: result === null ? null : kept(result),
            person,
          },
        ],
      },
      localUser(context),
    )
    const effect = effectOf(store, id)
    const { state } = recordOf(store, run)
    return {
      kind: 'Effect',
      exitCode: exits.done,
      data: { effect: effect as unknown as Json, runId: run, state },
      findings: [],
      lines: [
        [['cyan', id], ` reconciled as ${status}`],
        state === 'uncertain'
          ? `run ${run} has further uncertain effects: ${ledgerCommand(context, `effects list ${run}`)}`
          : `Go on with: ${resumeCommand(context, run)}`,
      ],
    }
  })
}

/** What a person vouches for becomes the task's output, so it is held to the schemas that the run would have held it to. */
async function requireFitting(store: LedgerStore, effect: EffectRecord, result: Json): Promise<void> {
  const snapshot = store.snapshot(effect.run)
  const fault = snapshot === null ? null : await vouchedFault(snapshot, effect.task, result)
  if (fault === null) return
  throw new CliError('invalid_result', `task ${effect.task}: ${fault}`, {
    help: "give the effect's output with --result-file, as the task's outputSchema asks for it",
  })
}

function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

function resultOf(directory: string, file: string): Json {
  const text = readWhole(resolve(directory, file), file)
  try {
    return JSON.parse(text) as Json
  } catch {
    throw new CliError('invalid_result', `${file} is not JSON`, { help: "give the effect's output as JSON", file })
  }
}
