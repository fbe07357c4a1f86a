import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** Waits until no process names `text` on its command line: what a killed process had started is over, whatever it did. */
export async function quiet(text: string): Promise<void> {
  while (readdirSync('/proc').some(pid => /^\d+$/.test(pid) && commandLine(pid).includes(text))) await pause(10)
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
