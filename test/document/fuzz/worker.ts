import { parentPort, workerData } from 'node:worker_threads'
import { holds } from './holds.ts'
import { seeds } from './seeds.ts'
import { documentOfSeed, treesOf } from './structural.ts'
import { textOf } from './textual.ts'

/** Where the other side sees which seed number is being tried. */
export interface WorkerData {
  progress: Int32Array
  first: number
  /** Seed numbers to try at most. */
  count: number
  /** CPU milliseconds after which it ends. */
  cpu: number
  folders: string[]
}

const { progress, first, count, cpu, folders } = workerData as WorkerData
const texts = seeds(folders).map(({ text }) => text)
const trees = treesOf(texts)

/** Even numbers change the text, odd ones the tree. */
function inputOf(seed: number): string {
  return seed % 2 === 0 ? textOf(texts, seed) : documentOfSeed(trees, seed)
}

const used = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

let seed = first
for (; seed - first < count && used() < cpu; seed++) {
  Atomics.store(progress, 0, seed)
  const text = inputOf(seed)
  try {
    holds(text)
  } catch (error) {
    parentPort?.postMessage({ found: { seed, text, error: String(error) } })
    break
  }
}
parentPort?.postMessage({ tried: seed - first })
