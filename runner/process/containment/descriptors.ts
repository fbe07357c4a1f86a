import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const O_CLOEXEC = 0o2000000

/** Descriptors above stderr that would reach every program that this process starts; Linux. */
export function inheritableDescriptors(): { fd: number; target: string }[] {
  return readdirSync('/proc/self/fd').flatMap(name => {
    if (Number(name) <= 2) return []
    try {
      const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'latin1'))?.[1] ?? '0'
      if ((Number.parseInt(flags, 8) & O_CLOEXEC) !== 0) return []
      return { fd: Number(name), target: readlinkSync(`/proc/self/fd/${name}`) }
    } catch {
      // The one that this listing itself used.
      return []
    }
  })
}
