/** An IP address by its bytes: 4 of IPv4, 16 of IPv6. */
export interface Address {
  family: 4 | 6
  bytes: readonly number[]
  /** The one spelling: dotted decimal, or RFC 5952 without brackets. */
  text: string
}

/**
 * An address as resolvers and sockets write it. Strict: four decimal numbers without leading zeros, or RFC 4291 text;
 * no zone, no brackets, no other radix. null for everything else, so that what is not understood is never allowed.
 */
export function parseAddress(text: string): Address | null {
  if (text.length > 45) return null
  if (!text.includes(':')) {
    const bytes = ipv4Bytes(text)
    return bytes === null ? null : { family: 4, bytes, text: bytes.join('.') }
  }
  const bytes = ipv6Bytes(text)
  return bytes === null ? null : { family: 6, bytes, text: ipv6Text(bytes) }
}

/** IPv4 before IPv6, then by their bytes. */
export function compareAddresses(left: Address, right: Address): number {
  if (left.family !== right.family) return left.family - right.family
  for (const [index, byte] of left.bytes.entries()) {
    const difference = byte - (right.bytes[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** The IPv4 address in four bytes of a longer one. */
export function embeddedIpv4(bytes: readonly number[], offset: number): Address {
  const four = bytes.slice(offset, offset + 4)
  return { family: 4, bytes: four, text: four.join('.') }
}

function ipv4Bytes(text: string): number[] | null {
  const parts = text.split('.')
  if (parts.length !== 4) return null
  const bytes = parts.map(part => (/^(0|[1-9][0-9]{0,2})$/.test(part) ? Number(part) : 256))
  return bytes.every(byte => byte < 256) ? bytes : null
}

function ipv6Bytes(text: string): number[] | null {
  const halves = text.split('::')
  if (halves.length > 2) return null
  const [head, tail] = [groupBytes(halves[0] ?? '', halves.length === 1), groupBytes(halves[1] ?? '', true)]
  if (head === null || tail === null) return null
  if (halves.length === 1) return head.length === 16 ? head : null
  const missing = 16 - head.length - tail.length
  return missing < 2 ? null : [...head, ...Array<number>(missing).fill(0), ...tail]
}

/** Bytes of `a:b:c`; the last group may be dotted decimal where the address ends with it. */
function groupBytes(text: string, endsAddress: boolean): number[] | null {
  if (text === '') return []
  const groups = text.split(':')
  const bytes: number[] = []
  for (const [index, group] of groups.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(group)) {
      const value = Number.parseInt(group, 16)
      bytes.push(value >> 8, value & 0xff)
      continue
    }
    const dotted = endsAddress && index === groups.length - 1 ? ipv4Bytes(group) : null
    if (dotted === null) return null
    bytes.push(...dotted)
  }
  return bytes
}

function ipv6Text(bytes: readonly number[]): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0))
  const gap = longestZeros(groups)
  const hex = (part: readonly number[]) => part.map(group => group.toString(16)).join(':')
  if (gap.length < 2) return hex(groups)
  return `${hex(groups.slice(0, gap.start))}::${hex(groups.slice(gap.start + gap.length))}`
}

function longestZeros(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 }
  let start = 0
  for (const [index, group] of groups.entries()) {
    if (group !== 0) start = index + 1
    else if (index + 1 - start > best.length) best = { start, length: index + 1 - start }
  }
  return best
}
