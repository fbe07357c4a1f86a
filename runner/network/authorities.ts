import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { getCACertificates } from 'node:tls'
import { promisify } from 'node:util'

/**
 * The platform's certificate authorities, PEM. Node lets SSL_CERT_FILE and SSL_CERT_DIR stand in for them and remembers
 * its first answer for the whole process; where one is set, a process of its own without any variable is asked instead.
 */
export async function systemAuthorities(): Promise<readonly string[]> {
  known ??= isRedirected() ? await askedApart() : getCACertificates('system')
  return known
}

let known: readonly string[] | undefined

function isRedirected(): boolean {
  return process.env['SSL_CERT_FILE'] !== undefined || process.env['SSL_CERT_DIR'] !== undefined
}

const question = "console.log(JSON.stringify(require('node:tls').getCACertificates('system')))"

async function askedApart(): Promise<readonly string[]> {
  const systemRoot = process.env['SystemRoot']
  // Windows starts nothing without it.
  const env = systemRoot === undefined ? {} : { SystemRoot: systemRoot }
  const options = { env, timeout: 10_000, maxBuffer: 16_777_216 }
  const { stdout } = await promisify(execFile)(process.execPath, ['--eval', question], options)
  const answer: unknown = JSON.parse(stdout)
  if (!Array.isArray(answer)) throw new TypeError('no list of certificates')
  return answer.map(String)
}

export type CertificatesResult = { ok: true; certificates: string[] } | { ok: false; detail: string }

const certificateBlock = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** The certificates of a customCa bundle. Anything but certificate blocks and white space refuses it: a key, another label, a comment. */
export function certificatesOf(pem: string): CertificatesResult {
  const certificates = pem.match(certificateBlock) ?? []
  const rest = pem.replace(certificateBlock, '').trim()
  if (rest !== '') {
    const what = /PRIVATE KEY/.test(rest) ? 'a private key' : 'something else than certificates'
    return { ok: false, detail: `the bundle holds ${what}; only PEM blocks of certificates may stand there` }
  }
  if (certificates.length === 0) return { ok: false, detail: 'the bundle holds no PEM block of a certificate' }
  const unreadable = certificates.findIndex(certificate => !isCertificate(certificate))
  if (unreadable === -1) return { ok: true, certificates }
  return { ok: false, detail: `certificate ${unreadable + 1} of the bundle cannot be read` }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}
