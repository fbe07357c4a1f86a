import { describeErrors } from '../../policy/document/output-fault.ts'
import type { PlanExtension } from '../../policy/document/plan.ts'
import type { Json, JsonObject } from '../../policy/json.ts'
import type { JsonSchemas } from '../../policy/json-schema/types.ts'
import { readMessage } from './message.ts'

export const invokeArgument = '--agentctl-invoke'

/** What an invocation reads on its stdin. */
export function invocation({ protocolVersion }: PlanExtension, effectId: string, input: JsonObject): Uint8Array {
  return Buffer.from(`${JSON.stringify({ protocolVersion, effectId, input })}\n`)
}

export type Reply = { ok: true; output: Json } | { ok: false; code: string; message: string }

/** Reads what an invocation printed. It answers this effect, in this protocol, with an output of its schema, or it is none. */
export function readReply(
  printed: Uint8Array,
  extension: PlanExtension,
  effectId: string,
  schemas: JsonSchemas,
): Reply {
  const read = readMessage(printed, ['protocolVersion', 'effectId', 'output'])
  if (!read.ok) return refused(`reply_${read.code}`, `the reply cannot be taken: ${read.message}`)
  const { protocolVersion, effectId: echoed, output = null } = read.fields
  if (protocolVersion !== extension.protocolVersion)
    return refused('reply_protocol_version', `the reply's protocolVersion is not ${extension.protocolVersion}`)
  if (echoed !== effectId) return refused('reply_effect_id', "the reply's effectId is not that of this effect")
  const checked = schemas.validate(extension.outputSchema, output)
  if (checked.ok) return { ok: true, output }
  return refused('reply_output', `the output does not satisfy outputSchema: ${describeErrors(checked.errors)}`)
}

function refused(code: string, message: string): Reply {
  return { ok: false, code, message: `${message}; what the extension did is not known` }
}
