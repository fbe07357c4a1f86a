import { chainHead } from '../audit/read.ts'
import type { LeaseCommand } from '../commands.ts'
import type { Context } from '../context.ts'
import { add } from '../outbox.ts'
import type { Batch, ControlBatch, Receipt } from '../port.ts'
import type { LeaseHolder, NewOutboxRow } from '../types.ts'
import { cancelRun } from './cancel.ts'
import { changeOf, type RunChange, readRunRow, refused } from './change.ts'
import { beginCompensation, compensateRun } from './compensation.ts'
import { createRun } from './create.ts'
import { finishEffect, startEffect } from './effect.ts'
import { finishRun } from './finish.ts'
import { registerIssue, voidIssue } from './issue.ts'
import { holdLease, releaseLease, renewLease } from './lease.ts'
import { addNote, addRequesters } from './note.ts'
import { pauseRun } from './pause.ts'
import { pureEffect } from './pure.ts'
import { reconcileEffect } from './reconcile.ts'
import { requestEffect } from './request.ts'
import { expirePause } from './resolution.ts'
import { moveTask } from './task.ts'
import { castVote } from './vote.ts'

/** Applies a lease holder's batch as one transaction. */
export function applyBatch(context: Context, batch: Batch, actor: string, holder?: LeaseHolder): Receipt {
  return context.sql.transaction(() => {
    if (!isNew(context, batch.run, batch.commands)) return receiptOf(context, batch.run)
    const [first, ...rest] = batch.commands
    if (first?.type === 'run.create') {
      const change = createRun(context, batch, first, actor, holder)
      for (const command of rest) applyCommand(change, command)
      return receipt(change)
    }
    const change = changeOf(context, batch.run, actor)
    holdLease(change, batch.epoch)
    for (const command of batch.commands) applyCommand(change, command)
    return receipt(change)
  })
}

/** Applies control commands as one transaction, follow-up work included. */
export function applyControl(context: Context, batch: ControlBatch, actor: string, followUps: NewOutboxRow[]): Receipt {
  return context.sql.transaction(() => {
    if (!isNew(context, batch.run, batch.commands)) return receiptOf(context, batch.run)
    const change = changeOf(context, batch.run, actor)
    for (const command of batch.commands) {
      switch (command.type) {
        case 'pause.register':
          registerIssue(change, command)
          break
        case 'issue.void':
          voidIssue(change, command)
          break
        case 'approval.vote':
          castVote(change, command)
          break
        case 'pause.expire':
          expirePause(change, command.pause)
          break
        case 'run.cancel':
          cancelRun(change, command)
          break
        case 'run.compensate':
          compensateRun(change, command)
          break
        case 'effect.reconcile':
          reconcileEffect(change, command)
          break
        case 'requesters.add':
          addRequesters(change, command.requesters)
          break
        case 'note.add':
          addNote(change, command)
          break
      }
    }
    for (const row of followUps) add(context, row)
    return receipt(change)
  })
}

function applyCommand(change: RunChange, command: LeaseCommand): void {
  if (change.row.state !== 'running') {
    throw refused('conflict', `Run ${change.run} is ${change.row.state}: ${command.type} comes behind its end.`)
  }
  switch (command.type) {
    case 'run.create':
      throw refused('invalid', `run.create must be the first command of a run's first batch.`)
    case 'lease.renew':
      renewLease(change)
      break
    case 'lease.release':
      releaseLease(change)
      break
    case 'task.move':
      moveTask(change, command)
      break
    case 'effect.request':
      requestEffect(change, command)
      break
    case 'effect.start':
      startEffect(change, command)
      break
    case 'effect.finish':
      finishEffect(change, command)
      break
    case 'effect.pure':
      pureEffect(change, command)
      break
    case 'run.pause':
      pauseRun(change, command)
      break
    case 'compensation.begin':
      beginCompensation(change, command)
      break
    case 'run.finish':
      finishRun(change, command)
      break
  }
}

/**
 * Takes note of a batch's command ids; false where all of them were applied before. A batch is atomic, so one that was
 * applied in part is not a repetition but a fault of its sender.
 */
function isNew(context: Context, run: string, commands: readonly { id: string; type: string }[]): boolean {
  let known = 0
  let added = 0
  for (const { id, type } of commands) {
    // A renewal says nothing that could be said twice.
    if (type === 'lease.renew') continue
    const found = context.sql.all('SELECT 1 FROM commands WHERE run = ? AND id = ?', run, id)
    if (found.length > 0) {
      known += 1
      continue
    }
    context.sql.run('INSERT INTO commands (run, id) VALUES (?, ?)', run, id)
    added += 1
  }
  if (known === 0) return true
  if (added === 0) return false
  throw refused(
    'invalid',
    `Some commands of this batch for run ${run} were applied before and some were not; send whole batches.`,
  )
}

function receiptOf(context: Context, run: string): Receipt {
  const row = readRunRow(context, run)
  if (row === null) throw refused('not_found', `There is no run ${run} in this ledger.`)
  return { epoch: row.epoch, head: chainHead(context, `run/${run}`), cancelRequested: row.cancelRequested }
}

function receipt(change: RunChange): Receipt {
  return { epoch: change.row.epoch, head: change.chain.head, cancelRequested: change.row.cancelRequested }
}
