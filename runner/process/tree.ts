import { spawn } from 'node:child_process'

/** Sends a signal to a process group whose leader agentctl started; a group that is gone is no error. Windows ends the tree. */
export function signalTree(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (process.platform === 'win32') {
    spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true }).on('error', () => {})
    return
  }
  try {
    process.kill(-pid, signal)
  } catch {
    // ESRCH: nobody is left. EPERM: what is left changed its user; containment by cgroup is what reaches it.
  }
}
