import { pipeline, type Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { GuardedError, networkFault } from './network-fault.ts'

/** Fault of a response that passed its bound, as it arrived or after decompression. */
export function tooLarge(subject: string, maxBytes: number): GuardedError {
  const message = `${subject}: network.maxResponseBytes: the response is larger than ${maxBytes} bytes and was dropped; raise it in spec.policy.network, if that is meant`
  return new GuardedError(networkFault('too_large', 'network.maxResponseBytes', message, true))
}

/** The body as the server meant it, within the same bound. Content encodings: gzip, deflate, br; any other throws a GuardedError. */
export function decodedBody(raw: Readable, encoding: string, subject: string, maxBytes: number): Readable {
  const decoder = decoderOf(encoding, subject)
  if (decoder === null) return raw
  let bytes = 0
  const bounded = new Transform({
    transform(part: Buffer, _, done) {
      bytes += part.byteLength
      if (bytes > maxBytes) done(tooLarge(subject, maxBytes))
      else done(null, part)
    },
  })
  // What goes wrong reaches the reader through the last stream of the three.
  return pipeline(raw, decoder, bounded, () => {})
}

function decoderOf(encoding: string, subject: string) {
  switch (encoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return null
    case 'gzip':
    case 'x-gzip':
      return createGunzip()
    case 'deflate':
      return createInflate()
    case 'br':
      return createBrotliDecompress()
    default: {
      const message = `${subject}: the response comes in a content encoding that is not understood; gzip, deflate and br are`
      throw new GuardedError(networkFault('protocol', 'content_encoding', message, true))
    }
  }
}
