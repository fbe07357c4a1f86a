import type { LeaseCommand } from './commands.ts'
import type { BlobRef, Payload } from './payload.ts'

/** Body cap of the commands route (05, Body caps). */
export const commandsLimitBytes = 262_144

/** Below this a blob's own reference would save nothing worth a request. */
const smallestBlobBytes = 1_024

/**
 * Commands whose JSON fits the body cap: the largest inline payloads become blobs, which mean the same, until it does.
 * What is already under the cap passes untouched. `spare` is what the envelope around the commands takes.
 */
export async function withinCap(
  commands: readonly LeaseCommand[],
  spare: number,
  store: (bytes: Uint8Array) => Promise<BlobRef>,
): Promise<LeaseCommand[]> {
  let bytes = Buffer.byteLength(JSON.stringify(commands)) + spare
  if (bytes <= commandsLimitBytes) return [...commands]
  const copy = structuredClone([...commands])
  const slots = copy.flatMap(slotsOf).sort((left, right) => right.bytes - left.bytes)
  for (const slot of slots) {
    if (bytes <= commandsLimitBytes || slot.bytes < smallestBlobBytes) break
    const blob = await store(Buffer.from(slot.text))
    slot.replace({ blob })
    bytes -= slot.bytes - JSON.stringify(blob).length
  }
  return copy
}

interface Slot {
  text: string
  bytes: number
  replace(payload: Payload): void
}

function slotsOf(command: LeaseCommand): Slot[] {
  switch (command.type) {
    case 'run.create':
      return slot(command.plan, payload => Object.assign(command, { plan: payload }))
    case 'task.move':
      return slot(command.output, payload => Object.assign(command, { output: payload }))
    case 'effect.request':
      return slot(command.input, payload => Object.assign(command, { input: payload }))
    case 'effect.finish': {
      const { longTerm, result } = command
      const kept =
        longTerm === undefined ? [] : slot(longTerm.value, payload => Object.assign(longTerm, { value: payload }))
      return [...slot(result, payload => Object.assign(command, { result: payload })), ...kept]
    }
    case 'run.pause':
      return command.items.flatMap(item => slot(item.expected, payload => Object.assign(item, { expected: payload })))
    case 'run.finish':
      return slot(command.outputs, payload => Object.assign(command, { outputs: payload }))
    default:
      return []
  }
}

function slot(payload: Payload | null, replace: (payload: Payload) => void): Slot[] {
  if (payload === null || !('inline' in payload)) return []
  const text = JSON.stringify(payload.inline)
  return [{ text, bytes: Buffer.byteLength(text), replace }]
}
