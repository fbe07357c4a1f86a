import { createHmac } from 'node:crypto'

/** What a webhook's sender can vary; the rest is a right delivery. */
export interface Sent {
  secret?: string
  event?: string
  delivery?: string
  method?: string
  headers?: { [name: string]: string | null }
}

/** A Request as GitHub sends it: JSON, signed over its very bytes. A header given as null is left out. */
export function signedRequest(body: string | Uint8Array<ArrayBuffer>, sent: Sent = {}): Request {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const headers = new Headers({
    'content-type': 'application/json',
    'x-github-event': sent.event ?? 'issue_comment',
    'x-github-delivery': sent.delivery ?? crypto.randomUUID(),
    'x-hub-signature-256': signatureOf(bytes, sent.secret ?? 'secret'),
  })
  for (const [name, value] of Object.entries(sent.headers ?? {})) {
    if (value === null) headers.delete(name)
    else headers.set(name, value)
  }
  const method = sent.method ?? 'POST'
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request('http://localhost/webhooks/github', { method, headers, ...(hasBody ? { body: bytes } : {}) })
}

/** `sha256=` and the HMAC that GitHub would send. */
export function signatureOf(bytes: Uint8Array, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(bytes).digest('hex')}`
}
