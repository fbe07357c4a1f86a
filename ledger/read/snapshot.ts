import type { Json, JsonObject } from '../../policy/json.ts'
import type { TaskState } from '../../policy/states.ts'
import { chainHead } from '../audit/read.ts'
import { resolve } from '../blobs.ts'
import type { Context } from '../context.ts'
import type { Payload } from '../payload.ts'
import type { RunSnapshot, TaskRecord } from '../port.ts'
import { Cells } from '../sql/cells.ts'
import { readActive } from './active.ts'
import { readEffects } from './effects.ts'
import { readFormer } from './former.ts'
import { ofRun } from './pauses.ts'
import { readRun } from './runs.ts'

/** The whole of one run as of one moment, blobs resolved. */
export function readSnapshot(context: Context, run: string): RunSnapshot | null {
  return context.sql.transaction(() => {
    const record = readRun(context, run)
    const [row] = context.sql.all('SELECT plan, outputs FROM runs WHERE run = ?', run)
    if (record === null || row === undefined) return null
    const cells = new Cells(row)
    const tasks = readTasks(context, run)
    const former = tasks.some(({ compensates }) => compensates !== undefined) ? readFormer(context, run) : null
    return {
      record,
      plan: resolve(context, cells.json<Payload>()),
      outputs: resolve(context, cells.jsonOrNull<Payload>()),
      tasks,
      effects: readEffects(context, run),
      memory: readMemory(context, run),
      pauses: ofRun(context, run),
      head: chainHead(context, `run/${run}`),
      activeMilliseconds: readActive(context, run),
      ...(former !== null && { former }),
    }
  })
}

/** Tasks in plan order. */
export function readTasks(context: Context, run: string): TaskRecord[] {
  const rows = context.sql.all(
    `SELECT task, state, attempt, needs, failure, output, error, condition, started_at, ended_at, compensates FROM tasks
     WHERE run = ? ORDER BY position`,
    run,
  )
  return rows.map(row => {
    const cells = new Cells(row)
    return {
      task: cells.text(),
      state: cells.text() as TaskState,
      attempt: cells.int(),
      needs: cells.json<string[]>(),
      failure: cells.text() as TaskRecord['failure'],
      output: resolve(context, cells.jsonOrNull<Payload>()),
      error: cells.jsonOrNull(),
      condition: cells.jsonOrNull<JsonObject>(),
      startedAt: cells.textOrNull(),
      endedAt: cells.textOrNull(),
      ...compensationOf(cells.textOrNull()),
    }
  })
}

function compensationOf(compensates: string | null): Pick<TaskRecord, 'compensates'> {
  return compensates === null ? {} : { compensates }
}

function readMemory(context: Context, run: string): JsonObject {
  const memory: { [key: string]: Json } = {}
  for (const row of context.sql.all('SELECT key, value FROM memory WHERE run = ? ORDER BY key', run)) {
    const cells = new Cells(row)
    // Own property whatever its name: `__proto__` would set the prototype by assignment.
    Object.defineProperty(memory, cells.text(), {
      value: resolve(context, cells.json<Payload>()),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return memory
}
