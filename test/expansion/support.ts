import type { JsonObject } from '../../policy/json.ts'
import type { RunOutcome } from '../../runner/index.ts'
import type { Scene } from '../runner/support.ts'

/** A shell action. */
export const sh = (script: string, more: JsonObject = {}): JsonObject => ({
  kind: 'builtin.shell.exec',
  command: '/bin/sh',
  args: ['-c', script],
  idempotency: 'idempotent',
  ...more,
})

/** Policy under which shells and writes below `out` need nobody. */
export const processes = { approval: 'never', processAllowlist: ['sh'], writableRoots: ['out'] }

export interface Recorded {
  state: string
  output: JsonObject
  error: { code: string; message: string } | null
}

/** What the ledger has of each task, ids without the digests of their bindings. */
export function recordOf(scene: Scene, { run }: Pick<RunOutcome, 'run'>): { [task: string]: Recorded } {
  const tasks = scene.ledger.store.snapshot(run)?.tasks ?? []
  return Object.fromEntries(
    tasks.map(({ task, state, output, error }) => [short(task), { state, output: output as JsonObject, error }]),
  )
}

/** States alone. */
export function statesOf(scene: Scene, outcome: Pick<RunOutcome, 'run'>): { [task: string]: string } {
  return Object.fromEntries(Object.entries(recordOf(scene, outcome)).map(([task, { state }]) => [task, state]))
}

/** `each--0001-2f0a...` as `each--0001`. */
export function short(id: string): string {
  return id.replaceAll(/(--\d{4})-[0-9a-f]{12}/g, '$1')
}
