import { readdirSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'vitest'
import type { TestEngine } from '../../engines/engines.ts'
import { type Room, tracesOf } from './support.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** What must not grow with the number of containers that were run. */
interface Held {
  descriptors: number
  heapBytes: number
  /** Of the engine's daemon. */
  engineDescriptors: number
  engineObjects: string
}

/** Runs containers one after the other, then a second time as many: the second half leaves nothing that the first did not. */
export async function runInARow(room: Room, engine: TestEngine, count: number): Promise<void> {
  const some = async () => {
    for (let index = 0; index < count / 2; index += 1) {
      const { end, stdout } = await room.probe(['words', String(index)])
      expect({ end, stdout }).toEqual({
        end: { kind: 'exited', code: 0 },
        stdout: `${Buffer.from(String(index)).toString('hex')}\n`,
      })
    }
  }
  // Connections and what is loaded lazily.
  await room.probe(['exit', '0'])
  await some()
  const before = await held(engine)
  await some()
  const after = await held(engine)
  console.log(`${count} runs in a row on ${engine.kind}: ${JSON.stringify({ before, after })}`)
  expect(after.engineObjects).toBe(before.engineObjects)
  expect(after.descriptors - before.descriptors).toBeLessThanOrEqual(4)
  expect(after.engineDescriptors - before.engineDescriptors).toBeLessThanOrEqual(8)
  // Of one run: its output, its promises, a socket. 20 KB each would be a leak of 5 MB at 500 runs.
  expect(after.heapBytes - before.heapBytes).toBeLessThan(2_000_000 + count * 2_000)
}

async function held(engine: TestEngine): Promise<Held> {
  collectGarbage()
  const { processes: _helpers, ...objects } = await tracesOf(engine)
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    heapBytes: process.memoryUsage().heapUsed,
    engineDescriptors: readdirSync(`/proc/${engine.pid}/fd`).length,
    engineObjects: JSON.stringify(objects),
  }
}
