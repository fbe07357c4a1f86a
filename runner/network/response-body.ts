import type { Readable } from 'node:stream'
import { exchangeFault, GuardedError, type NetworkFault } from './network-fault.ts'

export type BodyResult = { ok: true; bytes: Uint8Array } | { ok: false; fault: NetworkFault }

/** The body as its reader sees it: whatever breaks it is a GuardedError with a redacted message. */
export async function* guardedBody(
  body: Readable,
  redacted: (fault: NetworkFault) => NetworkFault,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const part of body) yield part as Uint8Array
  } catch (error) {
    throw new GuardedError(redacted(exchangeFault('the response', error, true)))
  }
}

/** The whole body; its bound is the stream's. */
export async function wholeBody(body: AsyncIterable<Uint8Array>): Promise<BodyResult> {
  const parts: Uint8Array[] = []
  try {
    for await (const part of body) parts.push(part)
    return { ok: true, bytes: Buffer.concat(parts) }
  } catch (error) {
    if (error instanceof GuardedError) return { ok: false, fault: error.fault }
    throw error
  }
}
