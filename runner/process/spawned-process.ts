import { EventEmitter } from 'node:events'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import type { Native, SpawnRequest } from '../native/native.ts'
import type { MainProcess } from './main-process.ts'

/** Started and not waited for yet, by pid. */
const running = new Map<number, SpawnedProcess>()
let isTold = false

/** agentctl's ends of what the process has as 0, 1 and 2. */
export interface Streams {
  stdin: Writable | null
  stdout: Readable
  stderr: Readable
}

/** A process started by the native layer, told of as Node tells of its own. */
export class SpawnedProcess
  extends EventEmitter<{ exit: [code: number | null, signal: string | null]; close: []; error: [Error] }>
  implements MainProcess
{
  readonly pid: number
  readonly stdin: Writable | null
  readonly stdout: Readable
  readonly stderr: Readable
  exitCode: number | null = null
  signalCode: string | null = null
  readonly #native: Native

  /** Throws NativeError where it cannot be started. */
  constructor(native: Native, request: SpawnRequest, { stdin, stdout, stderr }: Streams) {
    super()
    this.#native = native
    this.stdin = stdin
    this.stdout = stdout
    this.stderr = stderr
    if (!isTold) process.on('SIGCHLD', waitForAll)
    isTold = true
    this.pid = native.spawn(request)
    running.set(this.pid, this)
  }

  /** Its pipes and timers hold the event loop, it does not. */
  unref(): void {}

  /** Takes note of its end, if it has ended. */
  poll(): void {
    const end = this.#native.wait(this.pid)
    if (end === null) return
    running.delete(this.pid)
    if ('code' in end) this.exitCode = end.code
    else this.signalCode = signalName(end.signal)
    this.emit('exit', this.exitCode, this.signalCode)
    this.emit('close')
  }
}

/** One signal may stand for several ends. */
function waitForAll(): void {
  for (const child of running.values()) child.poll()
}

function signalName(number: number): string {
  const found = Object.entries(constants.signals).find(([, each]) => each === number)
  return found?.[0] ?? `SIG${number}`
}
