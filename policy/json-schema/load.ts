import type { JsonSchemas } from './types.ts'

/** Loads the room: a start without schemas does not pay for it. */
export function loadJsonSchemas(): Promise<JsonSchemas> {
  return import('./index.ts')
}
