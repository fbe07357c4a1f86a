import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bodyLimitBytes, passGates } from '../../control-plane/webhooks/gates.ts'
import { signatureVerifier } from '../../control-plane/webhooks/signature.ts'
import { type Sent, signatureOf, signedRequest } from './deliveries.ts'

const verify = signatureVerifier(['secret', 'former secret'])
const body = '{"action":"created"}'
const bytes = new TextEncoder().encode(body)
const bom = Uint8Array.from([0xef, 0xbb, 0xbf, ...bytes])

const refusals: [string, string | Uint8Array<ArrayBuffer>, Sent, number, string][] = [
  ['GET', body, { method: 'GET' }, 405, 'method_not_allowed'],
  ['PUT', body, { method: 'PUT' }, 405, 'method_not_allowed'],
  ['form encoding', body, { headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415, 'content_type'],
  ['no content type', body, { headers: { 'content-type': null } }, 415, 'content_type'],
  ['no event', body, { headers: { 'x-github-event': null } }, 400, 'missing_event'],
  ['odd event', body, { headers: { 'x-github-event': '../x' } }, 400, 'missing_event'],
  ['no delivery id', body, { headers: { 'x-github-delivery': null } }, 400, 'missing_delivery'],
  ['odd delivery id', body, { headers: { 'x-github-delivery': 'a b' } }, 400, 'missing_delivery'],
  ['no signature', body, { headers: { 'x-hub-signature-256': null } }, 401, 'missing_signature'],
  [
    'SHA-1 only',
    body,
    { headers: { 'x-hub-signature-256': null, 'x-hub-signature': 'sha1=0123456789012345678901234567890123456789' } },
    401,
    'sha1_signature',
  ],
  [
    'sha1= in the SHA-256 header',
    body,
    { headers: { 'x-hub-signature-256': `sha1=${'a'.repeat(40)}` } },
    401,
    'bad_signature',
  ],
  ['empty signature', body, { headers: { 'x-hub-signature-256': 'sha256=' } }, 401, 'bad_signature'],
  [
    'half a signature',
    body,
    { headers: { 'x-hub-signature-256': signatureOf(bytes, 'secret').slice(0, 39) } },
    401,
    'bad_signature',
  ],
  ['another secret', body, { secret: 'guess' }, 401, 'bad_signature'],
  [
    'another body',
    `${body} `,
    { headers: { 'x-hub-signature-256': signatureOf(bytes, 'secret') } },
    401,
    'bad_signature',
  ],
  ['announced 25 MB', body, { headers: { 'content-length': '26214400' } }, 413, 'too_large'],
  ['4 MiB and a byte, unannounced', new Uint8Array(bodyLimitBytes + 1), {}, 413, 'too_large'],
  ['empty', '', {}, 400, 'empty_body'],
  ['a byte order mark', bom, {}, 400, 'byte_order_mark'],
  ['no JSON', 'action=created', {}, 400, 'bad_json'],
  ['no UTF-8', Uint8Array.from([0x22, 0xff, 0x22]), {}, 400, 'bad_json'],
]

describe('webhook gates', () => {
  test.each(refusals)('refuse %s', async (_name, content, sent, status, code) => {
    const answer = await passGates(signedRequest(content, sent), verify)
    expect(answer.ok ? null : answer.refusal).toMatchObject({ status, code })
    expect(answer.ok ? '' : answer.refusal.message).not.toBe('')
  })

  test('every refusal has words of its own', () => {
    const codes = new Set(refusals.map(([, , , , code]) => code))
    expect(codes.size).toBe(11)
  })

  test.each([
    ['as GitHub sends it', {}],
    ['the former secret, while it is being changed', { secret: 'former secret' }],
    [
      'digits in upper case',
      { headers: { 'x-hub-signature-256': signatureOf(bytes, 'secret').toUpperCase().replace('SHA', 'sha') } },
    ],
    ['a charset', { headers: { 'content-type': 'Application/JSON; charset=utf-8' } }],
  ] satisfies [string, Sent][])('let through %s', async (_name, sent) => {
    const answer = await passGates(signedRequest(body, { delivery: 'd-1', ...sent }), verify)
    expect(answer).toEqual({
      ok: true,
      value: { delivery: 'd-1', event: 'issue_comment', payload: { action: 'created' } },
    })
  })

  test('check in their order: the signature of a body too large is never computed', async () => {
    const answer = await passGates(signedRequest(new Uint8Array(bodyLimitBytes + 1), { secret: 'guess' }), verify)
    expect(answer.ok ? null : answer.refusal.code).toBe('too_large')
  })

  test('stop reading at the limit', async () => {
    let pulled = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 65_536
        controller.enqueue(new Uint8Array(65_536))
      },
    })
    const { headers } = signedRequest(body)
    const request = new Request('http://localhost/webhooks/github', {
      method: 'POST',
      headers,
      body: endless,
      duplex: 'half',
    } as RequestInit)
    const answer = await passGates(request, verify)
    expect(answer.ok ? null : answer.refusal.code).toBe('too_large')
    expect(pulled).toBeLessThan(bodyLimitBytes + 4 * 65_536)
  })

  test.each([[[]], [['']], [['secret', ' ']]])('cannot be opened without a secret: %j', secrets => {
    expect(() => signatureVerifier(secrets)).toThrow(/GITHUB_WEBHOOK_SECRETS/)
  })

  test('take no bytes but the signed ones (property)', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 200 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (given, at, flip) => {
          const original = Uint8Array.from(given)
          const changed = original.slice()
          const index = at % changed.length
          changed[index] = (changed[index] ?? 0) ^ flip
          const signature = signatureOf(original, 'secret')
          expect(await verify(original, signature)).toBe(true)
          expect(await verify(changed, signature)).toBe(false)
        },
      ),
      { numRuns: 200 },
    )
  })
})
