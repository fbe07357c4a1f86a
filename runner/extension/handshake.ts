import { canonical } from '../../policy/canonical.ts'
import type { PlanExtension } from '../../policy/document/plan.ts'
import { readMessage } from './message.ts'

export const handshakeArgument = '--agentctl-handshake'

const declared = ['protocolVersion', 'inputSchema', 'outputSchema', 'capabilities'] as const

/**
 * Holds what a handshake printed against the declaration, null where they are equal: schemas as JSON values, capabilities
 * in order. Anything else means that another program answers than the one that was approved.
 */
export function handshakeFault(
  printed: Uint8Array,
  extension: PlanExtension,
): { code: string; message: string } | null {
  const read = readMessage(printed, [...declared, 'name'])
  if (!read.ok && read.code === 'malformed')
    return {
      code: 'handshake_malformed',
      message: `the handshake cannot be read: ${read.message}; nothing was invoked`,
    }
  if (!read.ok) return mismatch(read.message)
  const { name } = read.fields
  if (typeof name !== 'string' || name === '') return mismatch('`name` is no text, or an empty one')
  const different = declared.filter(field => canonical(read.fields[field] ?? null) !== canonical(extension[field]))
  if (different.length === 0) return null
  return mismatch(`${different.map(field => `\`${field}\``).join(', ')} is not as the action declares`)
}

function mismatch(what: string): { code: string; message: string } {
  return {
    code: 'handshake_mismatch',
    message: `the handshake does not equal the action's declaration: ${what}; nothing was invoked. Declare what this version of the extension prints for ${handshakeArgument}, or install the one that was declared`,
  }
}
