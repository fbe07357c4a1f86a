/** An IP address by its bytes: 4 of IPv4, 16 of IPv6. */
export interface Address {
  family: 4 | 6
  bytes: readonly number[]
}

/**
 * An address as resolvers and sockets write it. Strict: four decimal numbers without leading zeros, or RFC 4291 text;
 * no zone, no brackets, no other radix. null for everything else, so that what is not understood is never allowed.
 * Read by character codes: a decision does this for each address, and regular expressions cost ten times as much.
 */
export function parseAddress(text: string): Address | null {
  if (text.length > 45) return null
  const isIpv6 = text.includes(':')
  const bytes = isIpv6 ? ipv6Bytes(text) : ipv4Bytes(text, 0)
  return bytes === null ? null : { family: isIpv6 ? 6 : 4, bytes }
}

/** The one spelling of an address: dotted decimal, or RFC 5952 without brackets. */
export function addressText({ family, bytes }: Address): string {
  return family === 4 ? bytes.join('.') : ipv6Text(bytes)
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
  return { family: 4, bytes: bytes.slice(offset, offset + 4) }
}

const dot = 46
const colon = 58

/** Four decimal numbers from a place to the end. */
function ipv4Bytes(text: string, from: number): number[] | null {
  const bytes: number[] = []
  let value = -1
  for (let at = from; at <= text.length; at++) {
    const code = at === text.length ? dot : text.charCodeAt(at)
    if (code === dot) {
      if (value < 0) return null
      bytes.push(value)
      value = -1
      continue
    }
    const digit = code - 48
    if (digit < 0 || digit > 9 || value === 0) return null
    value = value < 0 ? digit : value * 10 + digit
    if (value > 255) return null
  }
  return bytes.length === 4 ? bytes : null
}

function ipv6Bytes(text: string): number[] | null {
  const bytes: number[] = []
  let gap = text.startsWith('::') ? 0 : -1
  let at = gap === 0 ? 2 : 0
  while (at < text.length) {
    const start = at
    let value = 0
    for (let digit = hexDigit(text.charCodeAt(at)); digit >= 0; digit = hexDigit(text.charCodeAt(at))) {
      value = value * 16 + digit
      at++
    }
    if (at < text.length && text.charCodeAt(at) === dot) {
      const dotted = ipv4Bytes(text, start)
      if (dotted === null) return null
      bytes.push(...dotted)
      break
    }
    if (at === start || at - start > 4) return null
    bytes.push(value >> 8, value & 0xff)
    if (at === text.length) break
    if (text.charCodeAt(at) !== colon || ++at === text.length) return null
    if (text.charCodeAt(at) !== colon) continue
    if (gap >= 0) return null
    gap = bytes.length
    at++
  }
  if (gap < 0) return bytes.length === 16 ? bytes : null
  const missing = 16 - bytes.length
  return missing < 2 ? null : bytes.toSpliced(gap, 0, ...Array<number>(missing).fill(0))
}

/** -1 for anything but a hexadecimal digit, the end of the text included. */
function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const letter = code | 0x20
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
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
