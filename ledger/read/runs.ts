import type { ApprovalSettings } from '../../policy/approval/record.ts'
import type { RunState } from '../../policy/states.ts'
import type { HostFloorRecord, Instance, Requester } from '../commands.ts'
import type { Context } from '../context.ts'
import { LedgerError, type RunRecord } from '../port.ts'
import { Cells } from '../sql/cells.ts'
import type { Row, SqlValue } from '../sql/contract.ts'
import type { Page, RunQuery } from '../types.ts'

const columns = `n, run, state, workflow_name, document, workflow_digest, plan_digest, floor_digest,
  (SELECT floor FROM host_floors f WHERE f.run = r.run), sha, head, parent,
  instance, settings, resume_with, requesters, cancel_requested, epoch, pause, created_at,
  (SELECT at FROM events e WHERE e.chain = 'run/' || r.run ORDER BY seq DESC LIMIT 1), ended_at`

export function readRun(context: Context, run: string): RunRecord | null {
  const [row] = context.sql.all(`SELECT ${columns} FROM runs r WHERE run = ?`, run)
  return row === undefined ? null : asRun(row).record
}

export function readByInstance(context: Context, key: string): RunRecord | null {
  const [row] = context.sql.all(
    `SELECT ${columns} FROM runs r WHERE instance_key = ? AND instance_key IS NOT NULL ORDER BY n DESC LIMIT 1`,
    key,
  )
  return row === undefined ? null : asRun(row).record
}

/** A page of runs, newest first. Throws invalid for a cursor that is none. */
export function readRuns(context: Context, query: RunQuery): Page<RunRecord> {
  const conditions: string[] = []
  const values: SqlValue[] = []
  const where = (condition: string, value: SqlValue | undefined) => {
    if (value === undefined) return
    conditions.push(condition)
    values.push(value)
  }
  where('state = ?', query.state)
  where('workflow_name = ?', query.workflow)
  where('sha = ?', query.commit)
  where('actor = ?', query.actor)
  where('created_at >= ?', query.since)
  if (query.cursor !== undefined && query.cursor !== null) where('n < ?', cursorValue(query.cursor))
  const limit = Math.min(Math.max(query.limit ?? 50, 1), 200)
  const filter = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const rows = context.sql.all(`SELECT ${columns} FROM runs r ${filter} ORDER BY n DESC LIMIT ?`, ...values, limit + 1)
  const found = rows.slice(0, limit).map(asRun)
  const last = found.at(-1)
  return {
    items: found.map(entry => entry.record),
    next: rows.length > limit && last !== undefined ? String(last.n) : null,
  }
}

function cursorValue(cursor: string): number {
  const value = Number(cursor)
  if (!Number.isSafeInteger(value)) throw new LedgerError('invalid', `${cursor} is no cursor; use \`next\` of a page.`)
  return value
}

function asRun(row: Row): { n: number; record: RunRecord } {
  const cells = new Cells(row)
  const n = cells.int()
  const record: RunRecord = {
    run: cells.text(),
    state: cells.text() as RunState,
    workflowName: cells.text(),
    document: cells.text(),
    workflowDigest: cells.text(),
    planDigest: cells.text(),
    floorDigest: cells.textOrNull(),
    hostFloor: cells.jsonOrNull<HostFloorRecord>(),
    commit: { sha: cells.textOrNull(), head: cells.textOrNull() },
    parent: cells.textOrNull(),
    instance: cells.jsonOrNull<Instance>(),
    settings: cells.json<ApprovalSettings>(),
    resumeWith: cells.text() as RunRecord['resumeWith'],
    requesters: cells.json<Requester[]>(),
    cancelRequested: cells.flag(),
    epoch: cells.int(),
    pause: cells.textOrNull(),
    createdAt: cells.text(),
    updatedAt: cells.text(),
    endedAt: cells.textOrNull(),
  }
  return { n, record }
}
