import type * as Koffi from 'koffi'
import { NativeError, type SpawnRequest } from './native.ts'

/** glibc's spawn.h; POSIX_SPAWN_SETSID has the same number in every C library that has it. */
const POSIX_SPAWN_SETSIGDEF = 0x04
const POSIX_SPAWN_SETSIGMASK = 0x08
const POSIX_SPAWN_SETSID = 0x80
const F_DUPFD_CLOEXEC = 1030
const O_RDWR = 2

/** The C library's opaque structures are smaller on every architecture (attributes 336 bytes, actions 80, signals 128). */
const structureBytes = 1_024
/** Sources lie above every descriptor that a program is given, so that none is overwritten before it has been copied. */
const firstSource = 16

/**
 * posix_spawn of the C library. The child borrows agentctl's memory until its program begins, where Node's own spawn copies
 * the page tables of all of it and has each page copied that is written to afterwards: 0.13 ms against 1.5 in a small
 * process, and the more the more memory agentctl has.
 */
export function bindSpawn(libc: Koffi.LibraryHandle, errno: () => number): (request: SpawnRequest) => number {
  const start: (pid: Int32Array, path: string, ...rest: unknown[]) => number = libc.func(
    'int posix_spawn(_Out_ int *, const char *, void *, void *, const char **, const char **)',
  )
  const initActions: (actions: Uint8Array) => number = libc.func('int posix_spawn_file_actions_init(void *)')
  const destroyActions: (actions: Uint8Array) => number = libc.func('int posix_spawn_file_actions_destroy(void *)')
  const addChangeDirectory: (actions: Uint8Array, fd: number) => number = libc.func(
    'int posix_spawn_file_actions_addfchdir_np(void *, int)',
  )
  const addCopy: (actions: Uint8Array, from: number, to: number) => number = libc.func(
    'int posix_spawn_file_actions_adddup2(void *, int, int)',
  )
  const addOpen: (actions: Uint8Array, fd: number, path: string, flags: number, mode: number) => number = libc.func(
    'int posix_spawn_file_actions_addopen(void *, int, const char *, int, uint)',
  )
  const fcntl: (fd: number, command: number, argument: number) => number = libc.func('int fcntl(int, int, int)')
  const close: (fd: number) => number = libc.func('int close(int)')
  const attributes = newAttributes(libc)

  return ({ program, isScript, argv, environment, cwd, descriptors }) => {
    const copies: number[] = []
    const source = (fd: number) => {
      if (fd >= firstSource) return fd
      const copy = fcntl(fd, F_DUPFD_CLOEXEC, firstSource)
      if (copy < 0) throw new NativeError('fcntl(F_DUPFD_CLOEXEC)', errno())
      copies.push(copy)
      return copy
    }
    const actions = new Uint8Array(structureBytes)
    must('posix_spawn_file_actions_init', initActions(actions))
    try {
      const file = source(program)
      must('posix_spawn_file_actions_addfchdir_np', addChangeDirectory(actions, source(cwd)))
      const given = isScript ? [...descriptors, file] : descriptors
      for (const [fd, from] of given.entries()) {
        if (from === null) must('posix_spawn_file_actions_addopen', addOpen(actions, fd, '/dev/null', O_RDWR, 0))
        else must('posix_spawn_file_actions_adddup2', addCopy(actions, source(from), fd))
      }
      const path = `/proc/self/fd/${isScript ? descriptors.length : file}`
      const pid = new Int32Array(1)
      must('posix_spawn', start(pid, path, actions, attributes, [...argv, null], [...environment, null]))
      return pid[0] ?? -1
    } finally {
      destroyActions(actions)
      for (const copy of copies) close(copy)
    }
  }
}

/** A session of its own, no signal blocked, none ignored; the same for every program. */
function newAttributes(libc: Koffi.LibraryHandle): Uint8Array {
  const init: (attributes: Uint8Array) => number = libc.func('int posix_spawnattr_init(void *)')
  const setFlags: (attributes: Uint8Array, flags: number) => number = libc.func(
    'int posix_spawnattr_setflags(void *, short)',
  )
  const setMask: (attributes: Uint8Array, signals: Uint8Array) => number = libc.func(
    'int posix_spawnattr_setsigmask(void *, void *)',
  )
  const setDefault: (attributes: Uint8Array, signals: Uint8Array) => number = libc.func(
    'int posix_spawnattr_setsigdefault(void *, void *)',
  )
  const attributes = new Uint8Array(structureBytes)
  must('posix_spawnattr_init', init(attributes))
  must('posix_spawnattr_setsigmask', setMask(attributes, new Uint8Array(structureBytes)))
  must('posix_spawnattr_setsigdefault', setDefault(attributes, new Uint8Array(structureBytes).fill(0xff)))
  const flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID
  must('posix_spawnattr_setflags', setFlags(attributes, flags))
  return attributes
}

/** These functions answer the error itself. */
function must(call: string, error: number): void {
  if (error !== 0) throw new NativeError(call, error)
}
