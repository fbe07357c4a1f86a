import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'
import { extension, integer, oid, pem, sequence, set, tlv, utcTime } from '../network/certificate.ts'

export interface Issued {
  key: string
  cert: string
}

/** A certificate authority made on the spot, which issues what a test needs; a lifetime is in days from now. */
export interface Authority {
  pem: string
  issue(names: string[], lifetime?: { from: number; to: number }): Issued
}

const algorithm = sequence(oid('2a8648ce3d040302'))
const dayMs = 86_400_000

export function authority(name: string): Authority {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const isAuthority = extension('551d13', true, sequence(tlv(0x01, Buffer.from([0xff]))))
  const root = certificate(name, name, pair.publicKey, pair.privateKey, [isAuthority], { from: -1, to: 1 })
  return {
    pem: root,
    issue(names, lifetime = { from: -1, to: 1 }) {
      const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const alternative = extension('551d11', false, sequence(...names.map(generalName)))
      const cert = certificate(names[0] ?? '', name, own.publicKey, pair.privateKey, [alternative], lifetime)
      return { key: pem(own.privateKey), cert }
    },
  }
}

function generalName(name: string): Buffer {
  if (isIP(name) === 0) return tlv(0x82, Buffer.from(name))
  return tlv(0x87, Buffer.from(name.split('.').map(Number)))
}

function certificate(
  subject: string,
  issuer: string,
  key: KeyObject,
  signer: KeyObject,
  extensions: Buffer[],
  { from, to }: { from: number; to: number },
): string {
  const body = sequence(
    tlv(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    distinguished(issuer),
    sequence(utcTime(new Date(Date.now() + from * dayMs)), utcTime(new Date(Date.now() + to * dayMs))),
    distinguished(subject),
    key.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, sequence(...extensions)),
  )
  const signature = tlv(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, signer)]))
  const der = sequence(body, algorithm, signature)
  const lines = der.toString('base64').replace(/.{64}/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

function distinguished(name: string): Buffer {
  return sequence(set(sequence(oid('550403'), tlv(0x0c, Buffer.from(name)))))
}
