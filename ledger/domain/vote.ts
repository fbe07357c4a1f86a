import type { Person } from '../../policy/approval/record.ts'
import type { CommandOf, Requester } from '../commands.ts'
import { Cells } from '../sql/cells.ts'
import { cell } from '../values.ts'
import { type RunChange, refused } from './change.ts'
import { followDenials, type ItemRow, itemsOf, pauseExpiry, resolveItem, settle } from './resolution.ts'

/**
 * One person's word on some items of the current pause. Everything that may have changed since the caller looked is
 * looked at again: pause, expiry, issue, body digest, requesters. A comment counts once; a second delivery changes nothing.
 */
export function castVote(change: RunChange, command: CommandOf<'approval.vote'>): void {
  if (command.comment !== null && !takeComment(change, command.comment, command.pause)) return
  checkPause(change, command)
  checkBody(change, command)
  checkPerson(change, command.person)
  const open = chosenItems(change, command)
  for (const item of open) {
    change.append('approval.voted', `approval/${item.approval}`, {
      vote: command.vote,
      person: command.person,
      reason: command.reason,
      via: command.via,
      comment: command.comment,
      bodyDigest: command.bodyDigest,
      needed: Math.max(item.needed, command.needed),
    })
  }
  if (command.vote === 'approve') approve(change, command, open)
  else reject(change, command, open)
}

function approve(change: RunChange, command: CommandOf<'approval.vote'>, open: ItemRow[]): void {
  const { reason, via } = command
  for (const item of open) {
    const needed = Math.max(item.needed, command.needed)
    change.sql.run('UPDATE items SET needed = ? WHERE approval = ?', needed, item.approval)
    keepVote(change, command, item)
    const by = approversOf(change, item.approval)
    if (by.length >= needed) resolveItem(change, item, { outcome: 'approved', by, reason, via })
  }
  settle(change, command.pause, false)
}

function reject(change: RunChange, command: CommandOf<'approval.vote'>, open: ItemRow[]): void {
  const { person, reason, via } = command
  for (const item of open) {
    keepVote(change, command, item)
    resolveItem(change, item, { outcome: 'rejected', by: [person], reason, via })
  }
  followDenials(change, command.pause, open)
}

/** Until an item is final, a person's last word stands. */
function keepVote(change: RunChange, { vote, person }: CommandOf<'approval.vote'>, item: ItemRow): void {
  change.sql.run(
    `INSERT INTO votes (approval, person, vote, at, record) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (approval, person) DO UPDATE SET vote = excluded.vote, record = excluded.record`,
    item.approval,
    identityOf(person),
    vote,
    change.now,
    cell(person, 'person'),
  )
}

function takeComment(change: RunChange, comment: number, pause: string): boolean {
  const taken = change.sql.all(
    'INSERT INTO comments (comment, pause) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING 1',
    comment,
    pause,
  )
  return taken.length === 1
}

function checkPause(change: RunChange, command: CommandOf<'approval.vote'>): void {
  const { pause } = command
  const expiresAt = pauseExpiry(change, pause)
  if (change.row.state !== 'paused' || change.row.pause !== pause) {
    throw refused(
      'conflict',
      `Pause ${pause} is over: run ${change.run} is ${change.row.state}. Nothing is left to decide.`,
    )
  }
  if (change.context.clock.now().toISOString() >= expiresAt) {
    throw refused('conflict', `Pause ${pause} expired at ${expiresAt}; a later decision does not count.`)
  }
}

function checkBody(change: RunChange, command: CommandOf<'approval.vote'>): void {
  const [row] = change.sql.all('SELECT body_digest FROM pauses WHERE pause = ?', command.pause)
  const registered = row === undefined ? null : new Cells(row).textOrNull()
  if (registered === null && command.via === 'comment') {
    throw refused('conflict', `Pause ${command.pause} has no registered issue; a comment cannot decide it.`)
  }
  if (command.bodyDigest === null) {
    if (command.via === 'cli') return
    throw refused('invalid', `A decision by ${command.via} names the digest of the body that it was made on.`)
  }
  if (registered === null || command.bodyDigest === registered) return
  throw refused(
    'conflict',
    `The decision was made on a body with digest ${command.bodyDigest}, the registered one has ${registered}. Decide on the current issue.`,
  )
}

function checkPerson(change: RunChange, person: Person): void {
  const [row] = change.sql.all(
    "SELECT settings ->> 'preventSelfApproval', requesters FROM runs WHERE run = ?",
    change.run,
  )
  if (row === undefined || person.id === null) return
  const cells = new Cells(row)
  if (!cells.flag()) return
  if (!cells.json<Requester[]>().some(requester => requester.id === person.id)) return
  throw refused(
    'conflict',
    `${person.login} requested run ${change.run}, and preventSelfApproval keeps requesters from deciding. Ask somebody else.`,
  )
}

function chosenItems(change: RunChange, command: CommandOf<'approval.vote'>): ItemRow[] {
  const items = itemsOf(change, command.pause)
  const chosen = command.items.map(approval => {
    const item = items.find(candidate => candidate.approval === approval)
    if (item === undefined) throw refused('not_found', `Pause ${command.pause} has no item ${approval}.`)
    return item
  })
  const open = [...new Set(chosen)].filter(item => item.isOpen)
  if (open.length === 0)
    throw refused('conflict', `Every item of this decision is resolved already; a resolution is final.`)
  return open
}

function approversOf(change: RunChange, approval: string): Person[] {
  const rows = change.sql.all(
    "SELECT record FROM votes WHERE approval = ? AND vote = 'approve' ORDER BY at, person",
    approval,
  )
  return rows.map(row => new Cells(row).json<Person>())
}

/** One person is one vote, under whatever login; a local user may give a name behind `local:<uid>`. */
function identityOf(person: Person): string {
  return person.id === null ? `local:${person.login.split(' ', 1)[0]}` : `github:${person.id}`
}
