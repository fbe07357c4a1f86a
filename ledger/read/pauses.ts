import type { ApprovalRecord, ExpectedEffect, Resolution } from '../../policy/approval/record.ts'
import type { Digest } from '../../policy/canonical.ts'
import type { DecisionStep } from '../../policy/decision/decision.ts'
import type { Json, JsonObject } from '../../policy/json.ts'
import { resolve } from '../blobs.ts'
import type { Context } from '../context.ts'
import type { Payload } from '../payload.ts'
import type { PauseRecord } from '../port.ts'
import { Cells } from '../sql/cells.ts'
import type { Row } from '../sql/contract.ts'

const pauseColumns =
  'p.pause, p.run, p.created_at, p.expires_at, p.issue_number, p.issue_id, p.issue_url, p.body_digest, p.later, p.short_digest'

/** Pauses of a run, oldest first. */
export function ofRun(context: Context, run: string): PauseRecord[] {
  const rows = context.sql.all(`SELECT ${pauseColumns} FROM pauses p WHERE p.run = ? ORDER BY p.rowid`, run)
  return rows.map(row => asPause(context, row))
}

export function byId(context: Context, pause: string): PauseRecord | null {
  const [row] = context.sql.all(`SELECT ${pauseColumns} FROM pauses p WHERE p.pause = ?`, pause)
  return row === undefined ? null : asPause(context, row)
}

export function byIssue(context: Context, issueNumber: number): PauseRecord | null {
  const [row] = context.sql.all(`SELECT ${pauseColumns} FROM pauses p WHERE p.issue_number = ?`, issueNumber)
  return row === undefined ? null : asPause(context, row)
}

/** What waits for people: derived from the items that have no resolution. */
export function open(context: Context): PauseRecord[] {
  const rows = context.sql.all(
    `SELECT ${pauseColumns} FROM pauses p WHERE p.pause IN (SELECT pause FROM items WHERE resolution IS NULL) ORDER BY p.rowid`,
  )
  return rows.map(row => asPause(context, row))
}

const itemColumns = `i.approval, i.run, i.pause, i.number, i.effect, i.binding_digest, i.needed, i.requested_at, i.reason,
  i.resolution, i.decision, i.expected, e.task, e.attempt, e.ordinal, e.agent, e.tool, e.capability, e.effect_class, e.risk,
  e.isolation, e.input, e.input_digest, r.plan_digest, r.sha, r.head, p.expires_at`
const itemTables = `items i JOIN pauses p ON p.pause = i.pause JOIN runs r ON r.run = i.run
  JOIN effects e ON e.run = i.run AND e.effect = i.effect`

export function approval(context: Context, id: Digest): ApprovalRecord | null {
  const [row] = context.sql.all(`SELECT ${itemColumns} FROM ${itemTables} WHERE i.approval = ?`, id)
  return row === undefined ? null : asItem(context, row)
}

function itemsOf(context: Context, pause: string): ApprovalRecord[] {
  const rows = context.sql.all(`SELECT ${itemColumns} FROM ${itemTables} WHERE i.pause = ? ORDER BY i.number`, pause)
  return rows.map(row => asItem(context, row))
}

function asPause(context: Context, row: Row): PauseRecord {
  const cells = new Cells(row)
  const pause = cells.text()
  const run = cells.text()
  const createdAt = cells.text()
  const expiresAt = cells.text()
  const number = cells.intOrNull()
  const id = cells.intOrNull()
  const url = cells.textOrNull()
  const bodyDigest = cells.textOrNull()
  const later = cells.json<string[]>()
  const shortDigest = cells.text()
  const items = itemsOf(context, pause)
  const isRegistered = number !== null && id !== null && url !== null && bodyDigest !== null
  return {
    pause,
    run,
    state: items.some(item => item.resolution === null) ? 'open' : 'resolved',
    items,
    later,
    createdAt,
    expiresAt,
    issue: isRegistered ? { number, id, url, bodyDigest } : null,
    shortDigest,
  }
}

function asItem(context: Context, row: Row): ApprovalRecord {
  const cells = new Cells(row)
  const id = cells.text()
  const run = cells.text()
  const pause = cells.text()
  const number = cells.int()
  const effect = cells.text()
  const bindingDigest = cells.text()
  const needed = cells.int()
  const requestedAt = cells.text()
  const reason = cells.text()
  const resolution = cells.jsonOrNull<Resolution>()
  const decisionTrace = cells.json<DecisionStep[]>()
  const expected = expectedEffect(resolve(context, cells.json<Payload>()))
  const task = cells.text()
  const trace = `${run}/${task}/${cells.int()}/${cells.int()}`
  return {
    id,
    run,
    pause,
    number,
    trace,
    task,
    agent: cells.textOrNull(),
    tool: cells.text(),
    capability: cells.text(),
    effect,
    effectClass: cells.text() as ApprovalRecord['effectClass'],
    risk: cells.text() as ApprovalRecord['risk'],
    isolation: cells.text() as ApprovalRecord['isolation'],
    input: resolve(context, cells.json<Payload>()) as JsonObject,
    inputDigest: cells.text(),
    bindingDigest,
    expectedEffect: expected,
    reason,
    decisionTrace,
    planDigest: cells.text(),
    commit: { sha: cells.textOrNull(), head: cells.textOrNull() },
    requestedAt,
    expiresAt: cells.text(),
    needed,
    resolution,
  }
}

/** Null once retention erased it. */
function expectedEffect(value: Json): ExpectedEffect {
  if (value === null) return { kind: 'other', summary: 'erased', detail: null }
  return value as unknown as ExpectedEffect
}
