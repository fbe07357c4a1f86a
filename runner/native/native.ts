import { getSystemErrorMessage, getSystemErrorName } from 'node:util'

/** What agentctl asks of the system that Node has no call for. Linux only; each call is one system call. */
export interface Native {
  /** PR_SET_DUMPABLE 0: nobody but root may read this process's environment, memory and descriptors. */
  forbidDump(): void
  /** PR_SET_CHILD_SUBREAPER 1: orphans below this process become its own children. */
  adoptOrphans(): void
  /** close_range(first, ~0, CLOSE_RANGE_CLOEXEC): no descriptor from `first` on reaches a program started later. */
  closeOnExec(first: number): void
  /** waitpid(pid, WNOHANG) of a child that Node did not start; true once it was dead and is gone. */
  reap(pid: number): boolean
  /** pidfd_open: a descriptor that stays this process's, whatever becomes of its number. The caller closes it. */
  openPid(pid: number): { fd: number } | 'gone'
  /** pipe2(O_CLOEXEC): both ends of a pipe. The caller closes them. */
  pipe(): { read: number; write: number }
  /**
   * Starts a program in a session of its own, with nothing ignored and nothing blocked; answers its pid, which is to be
   * waited for. Throws NativeError, also for what the kernel says of the program: then nothing ran.
   */
  spawn(request: SpawnRequest): number
  /** waitpid(pid, WNOHANG) of a program started by `spawn`; null while it runs, and where somebody else has waited for it. */
  wait(pid: number): { code: number } | { signal: number } | null
  /** pidfd_send_signal. */
  signal(pidfd: number, signal: number): 'sent' | 'gone' | 'denied'
}

/** Descriptors are this process's own, closed on exec as they are. */
export interface SpawnRequest {
  /** The opened file that runs. */
  program: number
  /** Its interpreter opens it again: it is also given on, as the descriptor after `descriptors`. */
  isScript: boolean
  argv: readonly string[]
  /** The whole environment, `NAME=value`. */
  environment: readonly string[]
  cwd: number
  /** What the program has as 0, 1, 2 ...; null = /dev/null. */
  descriptors: readonly (number | null)[]
}

/** The native layer, or why there is none here: a guarantee that needs it is then reported as absent. */
export type NativeLayer = { native: Native } | { absent: string }

/** A system call that the kernel refused. */
export class NativeError extends Error {
  override readonly name = 'NativeError'
  /** As Node names it, `ENOENT`. */
  readonly code: string
  constructor(call: string, errno: number) {
    super(`${call}: ${getSystemErrorMessage(-errno)}`)
    this.code = getSystemErrorName(-errno)
  }
}
