/** The part of the runtime's test module that these tests use; its own types need the whole of the Workers types. */
declare module 'cloudflare:test' {
  import type { DurableObjectStorage } from '../../ledger/index.ts'

  interface DurableObjectNamespace {
    newUniqueId(): unknown
    get(id: unknown): unknown
  }
  export const env: { LEDGERS: DurableObjectNamespace }
  export function runInDurableObject<Result>(
    stub: unknown,
    callback: (instance: unknown, state: { storage: DurableObjectStorage }) => Promise<Result>,
  ): Promise<Result>
}
