import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export interface ProcessResult {
  exitCode: number | null
  signal: NodeJS.Signals | null
}

export interface ProcessOptions {
  command: string
  args: readonly string[]
  cwd: string
  env: { readonly [name: string]: string }
  signal: AbortSignal
  started(process: { pid: number; kill(signal: NodeJS.Signals): void }): void
  output(text: string): void
}

/** As actions/runner cancels: SIGINT, 7.5 s later SIGTERM, 2.5 s later SIGKILL to the whole tree. */
export const cancelDelays = { interrupt: 7_500, terminate: 2_500 }

/** Runs a step's process; resolves when it is gone and its output read to the end. A program that cannot start is exit code 1 with the reason in the output. */
export function runProcess({
  command,
  args,
  cwd,
  env,
  signal,
  started,
  output,
}: ProcessOptions): Promise<ProcessResult> {
  return new Promise(resolve => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const timers: NodeJS.Timeout[] = []
    const cancel = () => {
      child.kill('SIGINT')
      timers.push(setTimeout(() => child.kill('SIGTERM'), cancelDelays.interrupt))
      timers.push(setTimeout(() => killTree(child), cancelDelays.interrupt + cancelDelays.terminate))
    }
    const finish = (result: ProcessResult) => {
      for (const timer of timers) clearTimeout(timer)
      signal.removeEventListener('abort', cancel)
      resolve(result)
    }
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8')
      stream.on('data', output)
    }
    child.on('error', error => {
      output(`${error.message}\n`)
      finish({ exitCode: 1, signal: null })
    })
    // A surviving grandchild may hold the pipes; the runner does not wait for it longer than this.
    child.on('exit', (exitCode, by) => timers.push(setTimeout(() => finish({ exitCode, signal: by }), 5_000)))
    child.on('close', (exitCode, by) => finish({ exitCode, signal: by }))
    if (child.pid !== undefined) started({ pid: child.pid, kill: by => void child.kill(by) })
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
  })
}

function killTree(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  for (const pid of [...descendants(child.pid), child.pid]) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // Gone already.
    }
  }
}

function descendants(pid: number): number[] {
  let entries: string[]
  try {
    entries = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  } catch {
    return []
  }
  const parents = new Map<number, number>()
  for (const entry of entries) {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8')
      parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    } catch {
      // Ended meanwhile.
    }
  }
  const found: number[] = []
  const visit = (of: number) => {
    for (const [child, parent] of parents) {
      if (parent !== of) continue
      found.push(child)
      visit(child)
    }
  }
  visit(pid)
  return found
}
