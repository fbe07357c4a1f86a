import type { OutboxRow } from '../../ledger/index.ts'
import type { PauseRecord, RunRecord } from '../../ledger/port.ts'
import { code } from '../../policy/approval/index.ts'
import type { RepositoryContext } from '../repository/context.ts'
import { type RowKind, textOf } from './rows.ts'

/** Work whose failure people need not hear of: it was only feedback. */
const quiet: readonly string[] = ['reaction', 'status', 'login-bound', 'reconcile'] satisfies RowKind[]

/** What the status comment says beside the items: how the run goes on, who closed the issue, and what failed for good. */
export function notesOf({ store }: RepositoryContext, pause: PauseRecord, record: RunRecord | null): string[] {
  const rows = store.outboxRows({ run: pause.run, limit: 1000 }).reverse()
  const isLatest = store.pauses(pause.run).at(-1)?.pause === pause.pause
  return [
    ...rows.filter(row => row.kind === 'reopen-issue' && row.payload['pause'] === pause.pause).map(reopened),
    ...(isLatest ? [...goingOn(rows, record), ...ended(record)] : []),
    ...rows.filter(row => row.state === 'dead' && !quiet.includes(row.kind)).map(dead),
  ].filter(line => line !== '')
}

function reopened(row: OutboxRow): string {
  return `This issue was closed by ${code(textOf(row, 'by'))}, who may not stop the run, and was reopened. Closed once more it stays closed; the decision then waits on the approval page.`
}

/** The latest re-dispatch: what it waits for, or why there is none. */
function goingOn(rows: OutboxRow[], record: RunRecord | null): string[] {
  const row = rows.findLast(({ kind }) => kind === 'redispatch')
  if (row === undefined || record === null) return []
  const note = textOf(row, 'note')
  if (record.state === 'running') return ['The run goes on.', note]
  if (record.state !== 'paused') return [note]
  if (textOf(row, 'nothing') !== '') return [`Nothing runs by itself: ${note}`]
  if ('started' in row.payload) return ['GitHub was asked to run the job again.', note]
  return [note === '' ? '' : `Waiting: ${note}`]
}

function ended(record: RunRecord | null): string[] {
  if (record === null || record.endedAt === null) return []
  return [`The run has ended: ${record.state}.`]
}

function dead(row: OutboxRow): string {
  return `Given up: ${row.kind} failed (${code(row.lastError ?? 'unknown')}). The decision stands; re-run the job by hand where it should go on.`
}
