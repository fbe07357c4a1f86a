import { type Answer, answered, refused } from '../problem.ts'
import type { VerifySignature } from './signature.ts'

/** GitHub caps payloads at 25 MB; the events that count here stay far below this. */
export const bodyLimitBytes = 4 * 1024 * 1024

/** A delivery that passed every gate up to its JSON: from GitHub, whole, and well formed. */
export interface SignedDelivery {
  delivery: string
  event: string
  payload: unknown
}

const deliveryId = /^[0-9A-Za-z-]{1,64}$/
const eventName = /^[a-z_]{1,64}$/

/** The gates in their fixed order, cheapest first and nothing parsed before the signature; each has its own refusal. */
export async function passGates(request: Request, verify: VerifySignature): Promise<Answer<SignedDelivery>> {
  if (request.method !== 'POST') {
    return refused(405, 'method_not_allowed', 'deliveries come by POST: set the webhook to this address')
  }
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') {
    return refused(415, 'content_type', 'the content type must be application/json: choose it in the webhook settings')
  }
  const headers = readHeaders(request.headers)
  if (!headers.ok) return headers
  const body = await readBody(request)
  if (!body.ok) return body
  if (!(await verify(body.value, headers.value.signature))) {
    return refused(
      401,
      'bad_signature',
      'the signature does not match any of GITHUB_WEBHOOK_SECRETS: compare the secrets',
    )
  }
  const payload = readJson(body.value)
  if (!payload.ok) return payload
  return answered({ delivery: headers.value.delivery, event: headers.value.event, payload: payload.value })
}

function readHeaders(headers: Headers): Answer<{ delivery: string; event: string; signature: string }> {
  const event = headers.get('x-github-event') ?? ''
  const delivery = headers.get('x-github-delivery') ?? ''
  if (!eventName.test(event))
    return refused(400, 'missing_event', 'the header X-GitHub-Event is absent or no event name')
  if (!deliveryId.test(delivery)) {
    return refused(400, 'missing_delivery', 'the header X-GitHub-Delivery is absent or no delivery id')
  }
  const signature = headers.get('x-hub-signature-256')
  if (signature !== null) return answered({ delivery, event, signature })
  return headers.has('x-hub-signature')
    ? refused(401, 'sha1_signature', 'only a SHA-1 signature was sent: X-Hub-Signature-256 is needed')
    : refused(
        401,
        'missing_signature',
        'the header X-Hub-Signature-256 is absent: set a secret in the webhook settings',
      )
}

/** The raw bytes, never more than the limit in memory, whatever the sender announced. */
async function readBody(request: Request): Promise<Answer<Uint8Array<ArrayBuffer>>> {
  const tooLarge = () => refused(413, 'too_large', `the body is larger than ${bodyLimitBytes} bytes`)
  const announced = Number(request.headers.get('content-length') ?? '0')
  if (announced > bodyLimitBytes) return tooLarge()
  const reader = request.body?.getReader()
  if (reader === undefined) return refused(400, 'empty_body', 'the body is empty')
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.byteLength
    if (length > bodyLimitBytes) {
      await reader.cancel()
      return tooLarge()
    }
    chunks.push(value)
  }
  if (length === 0) return refused(400, 'empty_body', 'the body is empty')
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return answered(bytes)
}

function readJson(bytes: Uint8Array): Answer<unknown> {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return refused(400, 'byte_order_mark', 'the body begins with a byte order mark: JSON has none')
  }
  try {
    return answered(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
  } catch {
    return refused(400, 'bad_json', 'the body is not JSON in UTF-8')
  }
}
