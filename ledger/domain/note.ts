import type { CommandOf, Requester } from '../commands.ts'
import { Cells } from '../sql/cells.ts'
import { cell } from '../values.ts'
import type { RunChange } from './change.ts'
import { mergeRequesters } from './reserve.ts'

/** Adds to the people who asked for a run; who is in the set already changes nothing. */
export function addRequesters(change: RunChange, requesters: readonly Requester[]): void {
  const [row] = change.sql.all('SELECT requesters FROM runs WHERE run = ?', change.run)
  const before = row === undefined ? [] : new Cells(row).json<Requester[]>()
  const after = mergeRequesters(before, requesters)
  if (after.length === before.length) return
  change.sql.run('UPDATE runs SET requesters = ? WHERE run = ?', cell(after, 'requesters'), change.run)
  change.append('requesters.added', `run/${change.run}`, { requesters: after.slice(before.length) })
}

export function addNote(change: RunChange, command: CommandOf<'note.add'>): void {
  cell(command.data, 'note')
  change.append('note.added', command.subject, { code: command.code, data: command.data })
}
