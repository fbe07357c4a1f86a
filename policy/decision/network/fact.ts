import type { Unknown } from '../facts.ts'
import type { Target } from './target.ts'

/**
 * Where a request would go and what the one look-up of its host gave. The decision judges these addresses and the client
 * connects to these: check and use are the same answer. Unknown for a URL that cannot be read and for a failed look-up.
 */
export type NetworkFact =
  | Unknown
  | {
      known: true
      target: Target
      /** Sorted, each once. Empty where policy refuses the target already, so that nothing was looked up. */
      addresses: readonly string[]
      /** The proxy of the runner's variables that would carry it; null without, and always where policy uses none. */
      proxy: null | { target: Target; addresses: readonly string[] }
    }
