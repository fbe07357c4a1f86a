/**
 * App private keys. GitHub hands out PKCS#1 and WebCrypto reads only PKCS#8, which is the same key inside a fixed envelope;
 * so a PKCS#1 key is wrapped here, and one path works in Node and in workerd.
 */
const rsaAlgorithm = [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00]
const versionZero = [0x02, 0x01, 0x00]

/** DER of a PKCS#8 private key from a PEM text in either form; line breaks may be written as `\n`. Throws with the remedy. */
export function pkcs8FromPem(pem: string): Uint8Array<ArrayBuffer> {
  const text = pem.replaceAll('\\n', '\n').trim()
  const match = /^-----BEGIN (RSA )?PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END (RSA )?PRIVATE KEY-----$/.exec(text)
  if (match === null) {
    throw new Error('GITHUB_APP_PRIVATE_KEY is not a PEM private key: use the file that GitHub gave for the App, whole')
  }
  const der = Uint8Array.from(atob((match[2] ?? '').replace(/\s/g, '')), char => char.charCodeAt(0))
  if (match[1] === undefined) return der
  const key = [0x04, ...derLength(der.length), ...der]
  const content = [...versionZero, ...rsaAlgorithm, ...key]
  return Uint8Array.from([0x30, ...derLength(content.length), ...content])
}

function derLength(length: number): number[] {
  if (length < 0x80) return [length]
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return [0x80 | bytes.length, ...bytes]
}

/** Signs JWTs as the App (RS256); the key is imported once. */
export function appSigner(pem: string): (claims: { iss: string; iat: number; exp: number }) => Promise<string> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  const key = pkcs8FromPem(pem)
  let imported: Promise<CryptoKey> | null = null
  return async claims => {
    imported ??= crypto.subtle.importKey('pkcs8', key, algorithm, false, ['sign'])
    const message = `${base64url(JSON.stringify({ alg: 'RS256', typ: 'JWT' }))}.${base64url(JSON.stringify(claims))}`
    const signature = await crypto.subtle.sign(algorithm, await imported, new TextEncoder().encode(message))
    return `${message}.${base64url(String.fromCharCode(...new Uint8Array(signature)))}`
  }
}

function base64url(binary: string): string {
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
