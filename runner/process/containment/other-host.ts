import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Containment, Guarantee } from '../../executor.ts'
import type { MainProcess } from '../main-process.ts'
import type { ArmedHost, Held } from './armed-host.ts'

const guarantees: Guarantee[] = ['non_dumpable', 'subreaper', 'closed_descriptors', 'cgroup', 'findable_after_crash']

/** macOS and Windows: the process group and who descends from it, best-effort. Unproven on the machines of this project. */
export function otherHost(): ArmedHost {
  const absent = guarantees.map(guarantee => ({ guarantee, reason: 'agentctl has it on Linux only' }))
  const held = new Set<Held & { endNow(): void }>()
  const close = () => {
    process.off('exit', close)
    for (const each of held) each.endNow()
  }
  process.once('exit', close)
  return {
    native: null,
    absent,
    ready: () => null,
    start(_, spawn) {
      const child = spawn(null)
      const tree = process.platform === 'win32' ? windowsTree(child) : posixTree(child)
      const hold = {
        child,
        terminate: () => tree.signal('SIGTERM'),
        isEmpty: () => !tree.isAlive(),
        async end(): Promise<Containment> {
          await tree.kill()
          held.delete(hold)
          return { containment: 'best-effort', absent, left: [] }
        },
        endNow: () => tree.signal('SIGKILL'),
      }
      held.add(hold)
      return hold
    },
    close,
  }
}

interface Tree {
  signal(signal: 'SIGTERM' | 'SIGKILL'): void
  isAlive(): boolean
  kill(): Promise<void>
}

/** The group by its number, then who left it but still descends from the main process, as `ps` tells. */
function posixTree(child: MainProcess): Tree {
  const { pid } = child
  const toGroup = (signal: NodeJS.Signals | 0): boolean => {
    try {
      return pid !== undefined && process.kill(-pid, signal)
    } catch {
      return false
    }
  }
  return {
    signal: signal => void toGroup(signal),
    isAlive: () => toGroup(0),
    async kill() {
      const isUnwaited = child.exitCode === null && child.signalCode === null
      const below = pid === undefined || !isUnwaited ? [] : await descendantsByPs(pid)
      toGroup('SIGKILL')
      for (const each of below) {
        try {
          process.kill(each, 'SIGKILL')
        } catch {
          // Gone meanwhile, or another user's.
        }
      }
    },
  }
}

async function descendantsByPs(root: number): Promise<number[]> {
  const output = await promisify(execFile)('/bin/ps', ['-axo', 'pid=,ppid='], { timeout: 2_000 }).catch(() => null)
  const pairs = (output?.stdout ?? '').split('\n').map(line => line.trim().split(/\s+/).map(Number))
  const found = [root]
  for (const parent of found) for (const [pid, of] of pairs) if (of === parent && pid !== undefined) found.push(pid)
  return found.slice(1)
}

/** `taskkill /T /F`: Windows knows no polite way for a process without a window. */
function windowsTree(child: MainProcess): Tree {
  const kill = () =>
    promisify(execFile)('taskkill', ['/pid', String(child.pid), '/T', '/F'], {
      windowsHide: true,
      timeout: 2_000,
    }).then(
      () => {},
      () => {},
    )
  const isAlive = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null
  return {
    signal() {
      if (isAlive()) void kill()
    },
    isAlive,
    kill: () => (isAlive() ? kill() : Promise.resolve()),
  }
}
