import { Worker } from 'node:worker_threads'
import type { WorkerData } from './worker.ts'

/** Megabytes of the heap that all of it may take; a plan has at most 32 Mi characters. */
const heapMegabytes = 512
/** Nothing may stand still for longer, in milliseconds, however busy the machine is. */
const standstill = 60_000

export interface Fuzzing {
  /** Seed number to begin with. */
  first: number
  count?: number
  /** CPU milliseconds after which no further one is tried. */
  cpu?: number
  /** Folders with more documents to begin with. */
  folders?: string[]
}

/**
 * Tries mutated documents in a thread of its own with a bounded heap: an exception, a hang and a flood of memory are all
 * told with the seed number. Answers how many it tried.
 */
export function fuzz({
  first,
  count = 0x7fff_ffff,
  cpu = Number.MAX_SAFE_INTEGER,
  folders = [],
}: Fuzzing): Promise<number> {
  const progress = new Int32Array(new SharedArrayBuffer(4))
  const data: WorkerData = { progress, first, count, cpu, folders }
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
  })
  return new Promise((resolve, reject) => {
    const fail = (what: string): void => {
      clearInterval(watch)
      void worker.terminate()
      reject(new Error(`seed ${Atomics.load(progress, 0)}: ${what}`))
    }
    let seen = -1
    const watch = setInterval(() => {
      const now = Atomics.load(progress, 0)
      if (now === seen) fail('it hangs')
      seen = now
    }, standstill)
    worker.on('message', ({ found, tried }: { found?: { text: string; error: string }; tried?: number }) => {
      if (found !== undefined) fail(`${found.error}\n${JSON.stringify(found.text)}`)
      if (tried === undefined) return
      clearInterval(watch)
      resolve(tried)
    })
    worker.on('error', error => fail(String(error)))
  })
}
