/**
 * Guarded HTTP, for every effect that opens a connection: resolve once, check, pin. No effect uses it yet. agentctl's own
 * calls are not effects and go through own.ts. undici loads with the first client, never at start.
 */
export { type NetworkFactOptions, networkFact } from '../facts/network-fact.ts'
export {
  type ClientResult,
  type GuardedClient,
  type GuardedOptions,
  type GuardedRequest,
  type GuardedResponse,
  type GuardedResult,
  guardedClient,
} from './guarded.ts'
export { GuardedError, type NetworkFault, type NetworkFaultCode } from './network-fault.ts'
export { dnsResolver, type Resolver, type ResolverOptions } from './resolver.ts'
export type { BodyResult } from './response-body.ts'
