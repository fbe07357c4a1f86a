import { constants } from 'node:os'
import { describeError } from '../../policy/redact.ts'
import { loadKoffi } from './koffi.ts'
import { type Native, NativeError, type NativeLayer } from './native.ts'
import { bindSpawn } from './posix-spawn.ts'

const { EPERM, ESRCH } = constants.errno

const PR_SET_DUMPABLE = 4
const PR_SET_CHILD_SUBREAPER = 36
const CLOSE_RANGE_CLOEXEC = 4
const lastDescriptor = 0xffff_ffff
const WNOHANG = 1
const O_CLOEXEC = 0o2000000

/** One number on every architecture; the C libraries that are still in use lack functions for them. */
const calls = { pidfd_send_signal: 424, pidfd_open: 434, close_range: 436 }

/** The system calls through koffi; loaded when the first process starts, never before. */
export function loadNative(): NativeLayer {
  const loaded = loadKoffi()
  if ('absent' in loaded) return loaded
  const { koffi } = loaded
  try {
    const libc = koffi.load('libc.so.6')
    const prctl: (...args: number[]) => number = libc.func('int prctl(int, ulong, ulong, ulong, ulong)')
    const syscall: (...args: number[]) => number = libc.func('long syscall(long, long, long, long, long)')
    const waitpid: Calls['waitpid'] = libc.func('int waitpid(int, _Out_ int *, int)')
    const pipe2: (ends: Int32Array, flags: number) => number = libc.func('int pipe2(_Out_ int *, int)')
    const errno = () => koffi.errno()
    return { native: nativeOf({ prctl, syscall, waitpid, pipe2, errno, spawn: bindSpawn(libc, errno) }) }
  } catch (error) {
    return { absent: `the native layer finds no C library that it knows: ${describeError(error)}` }
  }
}

interface Calls {
  prctl(...args: number[]): number
  syscall(...args: number[]): number
  waitpid(pid: number, status: Int32Array | null, options: number): number
  pipe2(ends: Int32Array, flags: number): number
  errno(): number
  spawn: Native['spawn']
}

function nativeOf({ prctl, syscall, waitpid, pipe2, errno, spawn }: Calls): Native {
  const must = (call: string, result: number) => {
    if (result < 0) throw new NativeError(call, errno())
  }
  return {
    forbidDump: () => must('prctl(PR_SET_DUMPABLE)', prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)),
    adoptOrphans: () => must('prctl(PR_SET_CHILD_SUBREAPER)', prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)),
    closeOnExec: first =>
      must('close_range', syscall(calls.close_range, first, lastDescriptor, CLOSE_RANGE_CLOEXEC, 0)),
    reap: pid => waitpid(pid, null, WNOHANG) === pid,
    spawn,
    wait(pid) {
      const told = new Int32Array(1)
      if (waitpid(pid, told, WNOHANG) !== pid) return null
      const [status = 0] = told
      // wait(2): the signal is in the low seven bits, else the code is in the byte above.
      const signal = status & 0x7f
      return signal === 0 ? { code: (status >> 8) & 0xff } : { signal }
    },
    openPid(pid) {
      const fd = syscall(calls.pidfd_open, pid, 0, 0, 0)
      if (fd >= 0) return { fd }
      if (errno() === ESRCH) return 'gone'
      throw new NativeError('pidfd_open', errno())
    },
    pipe() {
      const ends = new Int32Array(2)
      must('pipe2', pipe2(ends, O_CLOEXEC))
      const [read = -1, write = -1] = ends
      return { read, write }
    },
    signal(pidfd, signal) {
      if (syscall(calls.pidfd_send_signal, pidfd, signal, 0, 0) >= 0) return 'sent'
      if (errno() === ESRCH) return 'gone'
      if (errno() === EPERM) return 'denied'
      throw new NativeError('pidfd_send_signal', errno())
    },
  }
}
