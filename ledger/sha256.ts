import type { Digest } from '../policy/canonical.ts'
import { sha256 } from '../policy/canonical.ts'

/**
 * SHA-256 as lower-case hex by the platform's own synchronous code where it has any (Node), else by policy's: a commit
 * takes several digests, and the difference is a good part of its time.
 */
export const fastSha256: (data: string | Uint8Array) => Digest = platformHash() ?? sha256

function platformHash(): ((data: string | Uint8Array) => Digest) | null {
  // workerd has neither `process` nor node:crypto unless asked to.
  const crypto = globalThis.process?.getBuiltinModule?.('node:crypto')
  if (typeof crypto?.hash !== 'function') return null
  return data => crypto.hash('sha256', data, 'hex')
}
