import { type Address, embeddedIpv4, parseAddress } from './address.ts'

/** What kind of place an address is. Only `public` is reached without `network.allowPrivate`. */
export type AddressClass =
  | 'public'
  | 'private'
  | 'loopback'
  | 'link-local'
  | 'shared'
  | 'documentation'
  | 'benchmark'
  | 'unspecified'
  | 'multicast'
  | 'reserved'

/** An address' class, and the form that hides another address where the class is that one's. */
export interface Classified {
  class: AddressClass
  form: null | 'IPv4-mapped' | 'IPv4-compatible' | 'NAT64' | '6to4' | 'Teredo' | 'ISATAP'
}

/**
 * Special-purpose blocks of IANA's IPv4 and IPv6 registries (RFC 6890 and its updates), the narrower before the wider.
 * Blocks that are registered as globally reachable (AS112, AMT) are public.
 */
const blocks = [
  block('0.0.0.0', 8, 'unspecified'),
  block('10.0.0.0', 8, 'private'),
  block('100.64.0.0', 10, 'shared'),
  block('127.0.0.0', 8, 'loopback'),
  block('169.254.0.0', 16, 'link-local'),
  block('172.16.0.0', 12, 'private'),
  block('192.0.0.0', 24, 'reserved'),
  block('192.0.2.0', 24, 'documentation'),
  block('192.88.99.0', 24, 'reserved'),
  block('192.168.0.0', 16, 'private'),
  block('198.18.0.0', 15, 'benchmark'),
  block('198.51.100.0', 24, 'documentation'),
  block('203.0.113.0', 24, 'documentation'),
  block('224.0.0.0', 4, 'multicast'),
  block('240.0.0.0', 4, 'reserved'),
  block('::', 128, 'unspecified'),
  block('::1', 128, 'loopback'),
  // NAT64 of a network's own choice (RFC 8215): what it leads to cannot be known.
  block('64:ff9b:1::', 48, 'private'),
  block('2001:2::', 48, 'benchmark'),
  // IETF protocol assignments, Teredo and ORCHID among them.
  block('2001::', 23, 'reserved'),
  block('2001:db8::', 32, 'documentation'),
  block('3fff::', 20, 'documentation'),
  block('fc00::', 7, 'private'),
  block('fe80::', 10, 'link-local'),
  // Site-local, deprecated and still routed inside sites.
  block('fec0::', 10, 'private'),
  block('ff00::', 8, 'multicast'),
]

const mapped = block('::ffff:0:0', 96, 'reserved')
const compatible = block('::', 96, 'reserved')
const nat64 = block('64:ff9b::', 96, 'reserved')
const sixToFour = block('2002::', 16, 'reserved')
const teredo = block('2001::', 32, 'reserved')
const globalUnicast = block('2000::', 3, 'public')

/**
 * Class of an address. IPv4 inside IPv6 counts as what it leads to (mapped, NAT64 by its well-known prefix, 6to4, ISATAP);
 * IPv4-compatible and Teredo addresses are reserved even where they hold a public one. IPv6 outside 2000::/3 is reserved.
 */
export function classify(address: Address): Classified {
  if (address.family === 4) return { class: blockClass(address) ?? 'public', form: null }
  const { bytes } = address
  if (within(address, mapped)) return inner(bytes, 12, 'IPv4-mapped')
  if (within(address, nat64)) return inner(bytes, 12, 'NAT64')
  if (within(address, sixToFour)) return inner(bytes, 2, '6to4')
  if (within(address, teredo)) return { class: 'reserved', form: 'Teredo' }
  const own = blockClass(address)
  if (own !== null) return { class: own, form: null }
  if (within(address, compatible)) return { class: 'reserved', form: 'IPv4-compatible' }
  if (!within(address, globalUnicast)) return { class: 'reserved', form: null }
  const isatap = isIsatap(bytes) ? inner(bytes, 12, 'ISATAP') : null
  return isatap === null || isatap.class === 'public' ? { class: 'public', form: null } : isatap
}

interface Block {
  family: 4 | 6
  bytes: readonly number[]
  bits: number
  class: AddressClass
}

function block(start: string, bits: number, name: AddressClass): Block {
  const address = parseAddress(start)
  if (address === null) throw new TypeError(`${start} is no address`)
  return { family: address.family, bytes: address.bytes, bits, class: name }
}

function within(address: Address, { family, bytes, bits }: Block): boolean {
  if (address.family !== family) return false
  for (let index = 0; index * 8 < bits; index++) {
    const mask = 0xff & (0xff00 >> Math.min(8, bits - index * 8))
    if (((address.bytes[index] ?? 0) & mask) !== ((bytes[index] ?? 0) & mask)) return false
  }
  return true
}

function blockClass(address: Address): AddressClass | null {
  return blocks.find(candidate => within(address, candidate))?.class ?? null
}

function inner(bytes: readonly number[], offset: number, form: NonNullable<Classified['form']>): Classified {
  return { class: blockClass(embeddedIpv4(bytes, offset)) ?? 'public', form }
}

/** The interface identifier of RFC 5214: 0000:5efe or 0200:5efe and an IPv4 address. */
function isIsatap(bytes: readonly number[]): boolean {
  return ((bytes[8] ?? 0) & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe
}
