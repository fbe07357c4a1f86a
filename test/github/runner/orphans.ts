import { readdirSync, readFileSync } from 'node:fs'

/**
 * Kills what a job left running, as actions/runner does at a job's end: every process whose environment still holds the job's
 * RUNNER_TRACKING_ID. A process that was started with a cleared environment escapes it, there as here. Answers the killed ids.
 */
export function killOrphans(trackingId: string): number[] {
  const killed: number[] = []
  for (const entry of processes()) {
    if (entry === process.pid || !environment(entry).split('\0').includes(`RUNNER_TRACKING_ID=${trackingId}`)) continue
    try {
      process.kill(entry, 'SIGKILL')
      killed.push(entry)
    } catch {
      // Gone meanwhile.
    }
  }
  return killed
}

function processes(): number[] {
  try {
    return readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

function environment(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}
