import { generateKeyPairSync, type KeyObject } from 'node:crypto'

export interface RsaPair {
  privateKey: KeyObject
  publicKey: KeyObject
}

export const newRsaPair = (): RsaPair => generateKeyPairSync('rsa', { modulusLength: 2048 })

const kept = new Map<string, RsaPair>()

/** One pair a process and purpose: making one takes a tenth of a second of CPU, and doubles of one process may share it. */
export function sharedRsaPair(purpose: 'app' | 'oidc'): RsaPair {
  const pair = kept.get(purpose) ?? newRsaPair()
  kept.set(purpose, pair)
  return pair
}
