import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { timing } from './timing.ts'

export interface ProcessResult {
  exitCode: number | null
  signal: NodeJS.Signals | null
}

export interface ProcessOptions {
  command: string
  args: readonly string[]
  cwd: string
  env: { readonly [name: string]: string }
  /** Cancels as a runner does. */
  signal: AbortSignal
  /** The runner is gone, with the machine or alone. */
  lost: AbortSignal
  started(process: { pid: number; kill(signal: NodeJS.Signals): void }): void
  output(text: string): void
  /** Called where the process outlives the runner. */
  survives(kill: () => void): void
}

/**
 * Runs a step's process; resolves when it is gone and its output read to the end, or when nobody is there to wait. As
 * actions/runner src/Runner.Sdk/ProcessInvoker.cs cancels: SIGINT, SIGTERM, SIGKILL (`timing`), each to the process itself:
 * on Linux its "process tree" is that one. A program that cannot start is exit code 1 with the reason in the output.
 */
export function runProcess(options: ProcessOptions): Promise<ProcessResult> {
  const { command, args, cwd, env, signal, lost, started, output, survives } = options
  return new Promise(resolve => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const timers: NodeJS.Timeout[] = []
    const cancel = () => {
      child.kill('SIGINT')
      timers.push(setTimeout(() => child.kill('SIGTERM'), timing.interrupt))
      timers.push(setTimeout(() => child.kill('SIGKILL'), timing.interrupt + timing.terminate))
    }
    const abandon = () => {
      if (lost.reason === 'machine') return void child.kill('SIGKILL')
      // Nobody holds the other end of its pipes any more.
      for (const stream of [child.stdout, child.stderr]) stream.destroy()
      child.unref()
      survives(() => void child.kill('SIGKILL'))
      finish({ exitCode: null, signal: null })
    }
    const finish = (result: ProcessResult) => {
      for (const timer of timers) clearTimeout(timer)
      signal.removeEventListener('abort', cancel)
      lost.removeEventListener('abort', abandon)
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
    child.on('exit', (exitCode, by) => timers.push(setTimeout(() => finish({ exitCode, signal: by }), timing.drain)))
    child.on('close', (exitCode, by) => finish({ exitCode, signal: by }))
    if (child.pid !== undefined) {
      preferForKilling(child.pid)
      started({ pid: child.pid, kill: by => void child.kill(by) })
    }
    if (lost.aborted) abandon()
    else lost.addEventListener('abort', abandon, { once: true })
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
  })
}

/** The runner makes a step the kernel's first choice when memory runs out (ProcessInvoker.cs, DecreaseProcessPriority). */
function preferForKilling(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '500')
  } catch {
    // Not Linux, or gone already.
  }
}
