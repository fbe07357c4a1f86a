import { assert } from './builtin/assert.ts'
import { assign } from './builtin/assign.ts'
import { longTermExecutors } from './builtin/long-term-memory.ts'
import { type LongTermStore, nothingKept } from './builtin/long-term-store.ts'
import { memoryRead, memoryWrite } from './builtin/memory.ts'
import { readExecutor } from './builtin/read.ts'
import { writeExecutor } from './builtin/write.ts'
import type { Executor } from './executor.ts'
import { extensionExecutor } from './extension/executor.ts'
import type { Host } from './host.ts'
import { shellExecutor } from './process/shell.ts'

/** Every kind of action that this runner can do, by kind. */
export function createExecutors(host: Host, longTerm: LongTermStore = nothingKept): Map<string, Executor> {
  const executors = [
    assign,
    assert,
    memoryRead,
    memoryWrite,
    readExecutor(host),
    writeExecutor(host),
    shellExecutor(host),
    extensionExecutor(host),
    ...longTermExecutors(host, longTerm),
  ]
  return new Map(executors.flatMap(executor => executor.kinds.map(kind => [kind, executor])))
}
