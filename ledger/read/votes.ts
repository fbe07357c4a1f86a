import type { Person } from '../../policy/approval/record.ts'
import type { EarlierVote } from '../../policy/approval/view.ts'
import type { Context } from '../context.ts'
import { Cells } from '../sql/cells.ts'

/** What people have said on the items of a pause, oldest first; one word a person and item, the last. */
export function votesOf(context: Context, pause: string): EarlierVote[] {
  const rows = context.sql.all(
    `SELECT v.approval, v.vote, v.record, v.at FROM items i JOIN votes v ON v.approval = i.approval WHERE i.pause = ?
     ORDER BY v.at, i.number, v.person`,
    pause,
  )
  return rows.map(row => {
    const cells = new Cells(row)
    return {
      item: cells.text(),
      vote: cells.text() as EarlierVote['vote'],
      person: cells.json<Person>(),
      at: cells.text(),
    }
  })
}
