import type { RepositoryContext } from '../repository/context.ts'
import { earlier, inMs } from './backoff.ts'
import { workInbox } from './inbox/index.ts'
import { workOutbox } from './outbox/index.ts'
import { replacementRow, statusRow } from './rows.ts'

/** More than this in one call, and the caller's timer goes first. */
const most = 500
/** A job that paused and opened no issue by then will not: we open one. */
const unregisteredMs = 10 * 60_000

/**
 * Does what is due for one repository: expiry, then deliveries, then what follows from them, a new delivery always first.
 * `next` is the ISO time of the next thing due, null where there is none. At most one call at a time per repository.
 */
export async function work(context: RepositoryContext): Promise<{ next: string | null }> {
  const { store, clock } = context
  expireDue(context)
  const unregistered = proposeIssues(context)
  for (let count = 0; count < most; count++) {
    const [delivery] = store.dueInbox(1)
    if (delivery !== undefined) {
      await workInbox(context, delivery)
      continue
    }
    const [row] = store.dueOutbox(1)
    if (row === undefined) return { next: earlier(store.nextDue(), unregistered) }
    await workOutbox(context, row)
  }
  return { next: clock.now().toISOString() }
}

/** What nobody decided in time is recorded as expired, never as rejected. */
function expireDue({ store, clock }: RepositoryContext): void {
  const now = clock.now().toISOString()
  for (const pause of store.openPauses()) {
    if (pause.expiresAt > now) continue
    const of = { run: pause.run, pause: pause.pause }
    const command = { id: `expire-${pause.pause}`, type: 'pause.expire', pause: pause.pause } as const
    store.control({ run: pause.run, commands: [command] }, 'system', [statusRow(of, 'expired')])
  }
}

/** A pause whose job ended between recording it and opening its issue; answers when the next one is overdue. */
function proposeIssues({ store, clock }: RepositoryContext): string | null {
  const now = clock.now().toISOString()
  let next: string | null = null
  for (const pause of store.openPauses()) {
    if (pause.issue !== null || store.record(pause.run)?.instance == null) continue
    const overdue = inMs({ now: () => new Date(pause.createdAt) }, unregisteredMs)
    if (overdue > now) next = earlier(next, overdue)
    else if (!isReplaced(store, pause))
      store.addOutbox(replacementRow({ run: pause.run, pause: pause.pause }, 0, 'never registered'))
  }
  return next
}

/** Whether a new issue is wanted already, because the former one is void. */
function isReplaced(store: RepositoryContext['store'], { run, pause }: { run: string; pause: string }): boolean {
  const rows = store.outboxRows({ run, limit: 1000 })
  return rows.some(({ kind, payload }) => kind === 'replacement' && payload['pause'] === pause)
}
