import { expiryMaxSeconds } from '../../policy/approval/record.ts'
import { approvalId, shortDigest } from '../../policy/binding.ts'
import type { CommandOf } from '../commands.ts'
import { Cells } from '../sql/cells.ts'
import { cell, payloadDigest } from '../values.ts'
import { type RunChange, refused } from './change.ts'
import { effectRow } from './effect.ts'
import { refuseStarted } from './finish.ts'

/** Stops the run for its items and gives the lease back, in one transaction. */
export function pauseRun(change: RunChange, command: CommandOf<'run.pause'>): void {
  refuseStarted(change)
  const { needed, expiresAfterSeconds } = settingsOf(change)
  const expiresAt = expiryOf(change, command.expiresAt, expiresAfterSeconds)
  const pause = command.pause
  const added = change.sql.all(
    `INSERT INTO pauses (pause, run, created_at, expires_at, short_digest, later) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING RETURNING 1`,
    pause,
    change.run,
    change.now,
    expiresAt,
    shortDigest(command.items),
    cell(command.later, 'list of later tasks'),
  )
  if (added.length === 0) throw refused('conflict', `There is a pause ${pause} already; a pause has a fresh id.`)
  const items = command.items.map((item, index) => {
    const approval = approvalId(item.effect, pause)
    insertItem(change, pause, item, approval, index + 1, needed)
    const { effect, bindingDigest } = item
    return { number: index + 1, approval, effect, bindingDigest, expected: payloadDigest(item.expected) }
  })
  change.moveRun('paused')
  change.sql.run('UPDATE runs SET pause = ? WHERE run = ?', pause, change.run)
  change.row = { ...change.row, pause }
  change.releaseLease()
  change.append('run.paused', `pause/${pause}`, {
    pause,
    items,
    later: command.later,
    expiresAt,
    shortDigest: shortDigest(command.items),
  })
  change.checkpoint()
}

function insertItem(
  change: RunChange,
  pause: string,
  item: CommandOf<'run.pause'>['items'][number],
  approval: string,
  number: number,
  needed: number,
): void {
  const effect = effectRow(change, item.effect)
  if (effect === null || effect.state !== 'waiting_for_approval' || effect.bindingDigest !== item.bindingDigest) {
    const state = effect?.state ?? 'unknown'
    throw refused(
      'conflict',
      `Item ${number} asks about effect ${item.effect}, which is ${state}; an item's effect waits for approval with the same binding.`,
    )
  }
  const added = change.sql.all(
    `INSERT INTO items (approval, pause, run, number, effect, binding_digest, needed, requested_at, reason, decision, expected)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, decision -> 'steps', ? FROM effects WHERE run = ? AND effect = ?
     ON CONFLICT DO NOTHING RETURNING 1`,
    approval,
    pause,
    change.run,
    number,
    item.effect,
    item.bindingDigest,
    needed,
    change.now,
    item.reason,
    change.payloadCell(item.expected, 'expected effect'),
    change.run,
    item.effect,
  )
  if (added.length === 0) throw refused('invalid', `Effect ${item.effect} stands twice in pause ${pause}.`)
}

/** What the run's settings require of a pause. */
function settingsOf(change: RunChange): { needed: number; expiresAfterSeconds: number } {
  const [row] = change.sql.all(
    "SELECT settings ->> 'minimumApprovals', settings ->> 'expiresAfterSeconds' FROM runs WHERE run = ?",
    change.run,
  )
  if (row === undefined) throw refused('not_found', `There is no run ${change.run} in this ledger.`)
  const cells = new Cells(row)
  return { needed: cells.int(), expiresAfterSeconds: cells.int() }
}

/** The time that the runner asks for, no later than the run's settings allow by the ledger's own clock. */
function expiryOf(change: RunChange, asked: string, expiresAfterSeconds: number): string {
  const now = Date.parse(change.now)
  const seconds = (Date.parse(asked) - now) / 1000
  // A minute more than the maximum, for the difference between two clocks.
  if (!(seconds > 0 && seconds <= expiryMaxSeconds + 60))
    throw refused('invalid', `A pause expires within ${expiryMaxSeconds / 86_400} days of now, not at ${asked}.`)
  return seconds <= expiresAfterSeconds ? asked : new Date(now + expiresAfterSeconds * 1000).toISOString()
}
