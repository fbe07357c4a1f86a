import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { ExecutorError } from '../executor.ts'
import { checkPlace } from '../process/containment/registry.ts'
import { notePlaces } from './notes.ts'

/** Where Podman's packages put its profile; a later one of the host's own comes first. */
const defaultProfiles = ['/etc/containers/seccomp.json', '/usr/share/containers/seccomp.json'] as const

/**
 * By the first of these a process makes itself namespaces, in which it has every capability and mounts what it likes; the
 * others reach keys, the kernel's log and descriptors of others, and Docker's profile refuses them too.
 */
const refused = [
  'unshare',
  'setns',
  'mount',
  'umount',
  'umount2',
  'pivot_root',
  'move_mount',
  'open_tree',
  'fsopen',
  'fsconfig',
  'fsmount',
  'fspick',
  'mount_setattr',
  'add_key',
  'keyctl',
  'request_key',
  'pidfd_getfd',
  'reboot',
  'syslog',
]
/** `socketcall` is the way of 32-bit programs to `socket`, with arguments that no filter sees. */
const socketCalls = ['socket', 'socketcall']
const EPERM = 1
const ENOSYS = 38
/** Of sockets: Unix, IPv4, IPv6. No other is any use without a network, and AF_VSOCK goes past every network namespace. */
const families = [1, 2, 10]
const netlink = 16
const netlinkAudit = 9
/**
 * The second way into an x86-64 kernel, with numbers of its own: Debian's kernels have it switched off, and what a filter
 * knows of it makes up half of the time that the runtime takes to build one (some 10 ms for each container).
 */
const x32 = 'SCMP_ARCH_X32'
/** The flags of clone(2) that make a namespace: mount, cgroup, uts, ipc, user, pid, net. */
const newNamespaces = [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000]

const profileSchema = z.looseObject({
  defaultAction: z.literal('SCMP_ACT_ERRNO'),
  syscalls: z.array(z.looseObject({ names: z.array(z.string()), action: z.string() })),
  archMap: z
    .array(z.looseObject({ architecture: z.string(), subArchitectures: z.array(z.string()).nullable() }))
    .optional(),
})

/**
 * Podman's own default profile without what Docker's refuses beside it (Podman's lets everyone make a user namespace), and
 * with few families of sockets. Written once for all runs of this user, by its content; answers its path. Throws
 * ExecutorError where there is none to begin from.
 */
export function podmanProfile(profiles: readonly string[] = defaultProfiles, places = notePlaces()): string {
  const text = JSON.stringify(reduced(read(profiles)))
  const name = `${createHash('sha256').update(text).digest('hex')}.json`
  let refusal = ''
  for (const place of places.map(one => path.join(path.dirname(one), 'seccomp'))) {
    const file = path.join(place, name)
    try {
      mkdirSync(place, { recursive: true, mode: 0o700 })
      checkPlace(place)
      if (contentOf(file) === text) return file
      const draft = path.join(place, `.${randomUUID()}`)
      writeFileSync(draft, text, { mode: 0o600 })
      renameSync(draft, file)
      return file
    } catch (error) {
      refusal = error instanceof Error ? error.message : String(error)
    }
  }
  throw new ExecutorError('engine_no_seccomp', `the seccomp profile for podman cannot be written: ${refusal}`)
}

function read(profiles: readonly string[]): z.infer<typeof profileSchema> {
  for (const file of profiles) {
    const text = contentOf(file)
    if (text === null) continue
    try {
      return profileSchema.parse(JSON.parse(text))
    } catch {
      throw new ExecutorError(
        'engine_no_seccomp',
        `podman's seccomp profile ${file} cannot be read; install its package anew`,
      )
    }
  }
  throw new ExecutorError(
    'engine_no_seccomp',
    `podman has no seccomp profile on this host (${profiles.join(', ')}); install the one of its packages`,
  )
}

function reduced(profile: z.infer<typeof profileSchema>) {
  const taken = new Set([...refused, ...socketCalls, 'clone', 'clone3'])
  const kept = profile.syscalls.flatMap(rule => {
    const names = rule.names.filter(name => !taken.has(name))
    return names.length === 0 ? [] : [{ ...rule, names }]
  })
  const flags = (mask: number, value: number) => [{ index: 0, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' }]
  const equal = (index: number, value: number) => ({ index, value, op: 'SCMP_CMP_EQ' })
  return {
    ...profile,
    ...(profile.archMap !== undefined && { archMap: profile.archMap.map(withoutX32) }),
    syscalls: [
      ...kept,
      { names: refused, action: 'SCMP_ACT_ERRNO', errnoRet: EPERM },
      {
        names: ['clone'],
        action: 'SCMP_ACT_ALLOW',
        args: flags(
          newNamespaces.reduce((sum, flag) => sum + flag),
          0,
        ),
      },
      ...newNamespaces.map(flag => ({
        names: ['clone'],
        action: 'SCMP_ACT_ERRNO',
        errnoRet: EPERM,
        args: flags(flag, flag),
      })),
      ...families.map(family => ({ names: ['socket'], action: 'SCMP_ACT_ALLOW', args: [equal(0, family)] })),
      {
        names: ['socket'],
        action: 'SCMP_ACT_ALLOW',
        args: [equal(0, netlink), { index: 2, value: netlinkAudit, op: 'SCMP_CMP_NE' }],
      },
      // Its flags lie in memory, where no filter sees them: C libraries then use the one above.
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    ],
  }
}

function withoutX32<T extends { subArchitectures: string[] | null }>(entry: T): T {
  return { ...entry, subArchitectures: entry.subArchitectures?.filter(one => one !== x32) ?? null }
}

function contentOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
