import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { createRedactor } from '../../policy/redact.ts'

/** Redacts a log of that size in which each secret stands in several forms; answers the seconds that it took. */
export function redactVolume(
  count: number,
  bytes: number,
  secrets = Array.from({ length: count }, () => randomBytes(24).toString('base64')),
): number {
  const forms = secrets.flatMap(secret => [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)])
  const line = `${Buffer.from(randomBytes(57)).toString('base64')} a line of ordinary output\n`
  const lines: string[] = []
  for (let length = 0, at = 0; length < bytes; at++) {
    const text = at % 50 === 0 ? `found ${forms[(at / 50) % forms.length]} here\n` : line
    lines.push(text)
    length += text.length
  }
  const text = lines.join('')
  const redactor = createRedactor(secrets)
  const began = performance.now()
  const shown = redactor.text(text)
  const stream = redactor.stream()
  const all = new TextEncoder().encode(text)
  let chunks = ''
  for (let at = 0; at < all.length; at += 65_536) chunks += stream.push(all.subarray(at, at + 65_536))
  chunks += stream.end()
  const seconds = (performance.now() - began) / 1_000
  expect(chunks).toBe(shown)
  for (const form of forms) expect(shown.includes(form), form).toBe(false)
  expect(shown).toContain('found *** here')
  return seconds
}
