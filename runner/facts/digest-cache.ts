import { createHash } from 'node:crypto'
import { fstatSync, readSync } from 'node:fs'
import type { Digest } from '../../policy/canonical.ts'

/** SHA-256 of an open program, to which these places lead. */
export type ProgramDigest = (fd: number, passed: readonly string[]) => Digest

const cache = new Map<string, Digest>()
const maxEntries = 4096

/** SHA-256 of an open regular file as it is now. */
export function digestOf(fd: number): Digest {
  return hashDescriptor(fd)
}

/**
 * As `digestOf`, for a program in a trusted place: cached by device, inode, size and times in nanoseconds, so that one
 * used by many effects is hashed once; a file changed within the clock tick of its hashing is not kept. Never for a file
 * that a process of the run may write: what it writes through a mapping changes no time until the page is written back.
 */
export function keptDigestOf(fd: number): Digest {
  const stat = fstatSync(fd, { bigint: true })
  const key = `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`
  const known = cache.get(key)
  if (known !== undefined) return known
  const digest = hashDescriptor(fd)
  const after = fstatSync(fd, { bigint: true })
  const settled = BigInt(Date.now()) * 1_000_000n - after.ctimeNs > 1_000_000_000n
  if (settled && after.ctimeNs === stat.ctimeNs && after.mtimeNs === stat.mtimeNs) {
    if (cache.size >= maxEntries) cache.clear()
    cache.set(key, digest)
  }
  return digest
}

function hashDescriptor(fd: number): Digest {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(262_144)
  let position = 0
  for (;;) {
    const read = readSync(fd, buffer, 0, buffer.length, position)
    if (read === 0) return hash.digest('hex')
    hash.update(buffer.subarray(0, read))
    position += read
  }
}
