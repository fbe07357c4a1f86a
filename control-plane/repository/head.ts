import { canonical } from '../../policy/canonical.ts'
import type { AuditHead } from './handle.ts'

const keys = new Map<string, Promise<{ sign: CryptoKey; publicKey: string }>>()

/** A chain's head, signed with the Ed25519 key where there is one. */
export async function signHead(
  pem: string | null,
  head: Pick<AuditHead, 'ledger' | 'chain' | 'seq' | 'head'>,
): Promise<AuditHead> {
  if (pem === null) return { ...head, signature: null, publicKey: null }
  const key = keys.get(pem) ?? importKey(pem)
  keys.set(pem, key)
  const { sign, publicKey } = await key
  const signature = await crypto.subtle.sign('Ed25519', sign, new TextEncoder().encode(canonical({ ...head })))
  return { ...head, signature: base64(new Uint8Array(signature)), publicKey }
}

async function importKey(pem: string): Promise<{ sign: CryptoKey; publicKey: string }> {
  const body = pem.replace(/-----[^-]+-----/g, '').replace(/\s+/g, '')
  const bytes = Uint8Array.from(atob(body), char => char.charCodeAt(0))
  const sign = await crypto.subtle.importKey('pkcs8', bytes, 'Ed25519', true, ['sign'])
  const { x = '' } = await crypto.subtle.exportKey('jwk', sign)
  const publicKey = x.replaceAll('-', '+').replaceAll('_', '/')
  return { sign, publicKey: publicKey.padEnd(Math.ceil(publicKey.length / 4) * 4, '=') }
}

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))
