import { canonical } from '../../policy/canonical.ts'
import type { JsonObject } from '../../policy/json.ts'
import { keep } from '../blobs.ts'
import { payloadOf } from '../values.ts'
import type { RunChange } from './change.ts'

/** Writes keys of the working memory; a large value becomes a blob of the run. */
export function setMemory(change: RunChange, delta: JsonObject): void {
  for (const [key, value] of Object.entries(delta)) {
    const payload = payloadOf(value, bytes => keep(change.context, bytes, change.run))
    change.sql.run(
      `INSERT INTO memory (run, key, value) VALUES (?, ?, ?) ON CONFLICT (run, key) DO UPDATE SET value = excluded.value`,
      change.run,
      key,
      canonical(payload),
    )
  }
}
