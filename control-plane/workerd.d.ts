/** The little of workerd's own module that the Worker entry uses. */
declare module 'cloudflare:workers' {
  import type { DurableObjectStorage } from '../ledger/index.ts'

  export interface DurableObjectState {
    readonly storage: DurableObjectStorage & {
      get<Value>(key: string): Promise<Value | undefined>
      put(key: string, value: unknown): Promise<void>
      setAlarm(at: number): Promise<void>
      deleteAlarm(): Promise<void>
    }
  }

  /** Base of a Durable Object whose public methods are called from outside as on the object itself. */
  export abstract class DurableObject<Env = unknown> {
    protected readonly ctx: DurableObjectState
    protected readonly env: Env
    constructor(ctx: DurableObjectState, env: Env)
  }
}
