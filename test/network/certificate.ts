import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/**
 * A self-signed certificate authority and server certificate in one, made on the spot: no key stands in the repository.
 * DER by hand, just enough of RFC 5280: version 3, P-256, basicConstraints CA, subjectAltName.
 */
export function selfSigned(name: string): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = sequence(oid('2a8648ce3d040302'))
  const subject = sequence(set(sequence(oid('550403'), tlv(0x0c, Buffer.from(name)))))
  const day = 86_400_000
  const validity = sequence(utcTime(new Date(Date.now() - day)), utcTime(new Date(Date.now() + day)))
  const isAuthority = extension('551d13', true, sequence(tlv(0x01, Buffer.from([0xff]))))
  const names = extension('551d11', false, sequence(tlv(0x82, Buffer.from(name))))
  const body = sequence(
    tlv(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    subject,
    validity,
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, sequence(isAuthority, names)),
  )
  const signature = tlv(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]))
  const der = sequence(body, algorithm, signature)
  const lines = der.toString('base64').replace(/.{64}/g, '$&\n')
  return {
    key: pem(privateKey),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  }
}

export function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

export function tlv(tag: number, content: Buffer): Buffer {
  const size = content.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

export const sequence = (...parts: Buffer[]) => tlv(0x30, Buffer.concat(parts))
export const set = (...parts: Buffer[]) => tlv(0x31, Buffer.concat(parts))
export const oid = (hex: string) => tlv(0x06, Buffer.from(hex, 'hex'))
export const integer = (bytes: Buffer) => tlv(0x02, bytes)
export const utcTime = (date: Date) =>
  tlv(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`))
export const extension = (id: string, critical: boolean, value: Buffer) =>
  sequence(oid(id), ...(critical ? [tlv(0x01, Buffer.from([0xff]))] : []), tlv(0x04, value))
