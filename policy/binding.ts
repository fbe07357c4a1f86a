import { type Digest, digest } from './canonical.ts'
import type { JsonObject } from './json.ts'

/**
 * The host facts that an approval is bound to, each under its own name, so that a change can be told by name: `executable`, `interpreter`, `cwd`, `argv_files`, `environment`,
 * `image`, `replaced_file`, `replaced_value`, `host_floor`. Values are digests or small records of digests.
 */
export type Binding = JsonObject

/** Digest of a binding. */
export function bindingDigest(binding: Binding): Digest {
  return digest(binding)
}

/** Identity of an effect and its idempotency key: SHA-256 over run, task, attempt, ordinal, operation, inputDigest. */
export function effectId(of: {
  run: string
  task: string
  attempt: number
  ordinal: number
  operation: string
  inputDigest: Digest
}): Digest {
  return digest([of.run, of.task, of.attempt, of.ordinal, of.operation, of.inputDigest])
}

/** Identity of one item of one pause: SHA-256 over effect id and pause id. */
export function approvalId(effect: Digest, pause: string): Digest {
  return digest([effect, pause])
}

/** First 12 hex of SHA-256 over the sorted `[effect id, bindingDigest]` pairs: what people compare by eye. */
export function shortDigest(items: readonly { effect: Digest; bindingDigest: Digest }[]): string {
  const pairs = items.map(item => [item.effect, item.bindingDigest])
  pairs.sort((left, right) => (String(left) < String(right) ? -1 : 1))
  return digest(pairs).slice(0, 12)
}

/** Names of the facts that differ, as `<name>_changed`, sorted; empty when both bindings are the same. */
export function changedFacts(before: Binding, after: Binding): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names
    .filter(name => digest(before[name] ?? null) !== digest(after[name] ?? null))
    .map(name => `${name}_changed`)
}
