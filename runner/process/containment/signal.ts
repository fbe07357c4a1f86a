import { closeSync } from 'node:fs'
import { constants } from 'node:os'
import type { Native } from '../../native/native.ts'
import { type Seen, seeProcess } from './proc.ts'

export type Signal = 'SIGTERM' | 'SIGKILL' | 'SIGSTOP'

/**
 * Signals exactly the process that was seen: its number is held by a pidfd first, then its start time compared, so one
 * that got the number later is never hit. Without the native layer the comparison comes immediately before.
 */
export function signalSeen(native: Native | null, seen: Seen, signal: Signal): 'sent' | 'gone' | 'denied' {
  if (native === null) return isStill(seen) ? signalByNumber(seen.pid, signal) : 'gone'
  let opened: ReturnType<Native['openPid']>
  try {
    opened = native.openPid(seen.pid)
  } catch {
    // No pidfd before Linux 5.3.
    return signalSeen(null, seen, signal)
  }
  if (opened === 'gone') return 'gone'
  try {
    return isStill(seen) ? native.signal(opened.fd, constants.signals[signal]) : 'gone'
  } finally {
    closeSync(opened.fd)
  }
}

function isStill({ pid, start }: Seen): boolean {
  return seeProcess(pid)?.start === start
}

function signalByNumber(pid: number, signal: Signal): 'sent' | 'gone' | 'denied' {
  try {
    process.kill(pid, signal)
    return 'sent'
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM' ? 'denied' : 'gone'
  }
}
