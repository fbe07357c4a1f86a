import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAddress } from '../../policy/decision/index.ts'
import { codeOf } from '../facts/unknown.ts'

/** Where the platform keeps the names that no DNS server is asked for. */
export const platformHostsFile =
  process.platform === 'win32'
    ? join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'drivers', 'etc', 'hosts')
    : '/etc/hosts'

/** Addresses of every line that names the host; lines without a plain address are no entries. A file that cannot be read rejects. */
export async function addressesInHosts(path: string, host: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return ''
    throw error
  })
  return text.split('\n').flatMap(line => {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().toLowerCase().split(/\s+/)
    const isNamed = names.some(name => name === host || name === `${host}.`)
    return isNamed && parseAddress(address) !== null ? [address] : []
  })
}
