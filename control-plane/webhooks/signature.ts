const scheme = /^sha256=([0-9a-f]{64})$/i

/** Whether `header` (`sha256=` and 64 hex digits, any case) signs these very bytes under one of the secrets. */
export type VerifySignature = (body: Uint8Array<ArrayBuffer>, header: string) => Promise<boolean>

/** HMAC-SHA256 by WebCrypto, whose comparison takes the same time for every wrong answer. Keys are imported once. */
export function signatureVerifier(secrets: readonly string[]): VerifySignature {
  if (secrets.length === 0 || secrets.some(secret => secret.trim() === '')) {
    throw new Error('GITHUB_WEBHOOK_SECRETS must name at least one secret, none of them empty')
  }
  const keys = secrets.map(secret => {
    const imported = crypto.subtle.importKey(
      'raw',
      new TextEncoder().encode(secret),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['verify'],
    )
    imported.catch(() => undefined)
    return imported
  })
  return async (body, header) => {
    const hex = scheme.exec(header)?.[1]
    if (hex === undefined) return false
    const signature = Uint8Array.from(hex.match(/../g) ?? [], pair => Number.parseInt(pair, 16))
    // Every secret is tried, so that the time taken does not tell which one matched.
    const matches = await Promise.all(keys.map(async key => crypto.subtle.verify('HMAC', await key, signature, body)))
    return matches.includes(true)
  }
}
