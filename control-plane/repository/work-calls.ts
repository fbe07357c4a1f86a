import type { Delivery } from '../../ledger/index.ts'
import { markIdle, work } from '../work/index.ts'
import { Arrivals } from './arrivals.ts'
import type { RepositoryHandle } from './handle.ts'
import type { RepositoryState } from './state.ts'

const sweepMs = 86_400_000
const retryAfterFaultMs = 30_000

/** Deliveries into the inbox, and the work that they and timers lead to: one turn at a time, however often it is called. */
export function workCalls(state: RepositoryState): Pick<RepositoryHandle, 'deliver' | 'tick'> {
  const { clock, log, schedule } = state.world
  const arrivals = new Arrivals(deliveries => keep(deliveries))
  let working: Promise<void> | null = null
  let again = false
  let sweptAt = 0

  /** One commit; a turn of work follows where there is any. */
  function keep(deliveries: Delivery[]): ('new' | 'duplicate')[] {
    const marked = markIdle(state.store, deliveries)
    const outcomes = state.store.addInboxAll(marked)
    const isIdle = marked.every(({ outcome }, index) => outcome !== undefined && outcomes[index] === 'new')
    if (!isIdle) schedule(clock.now().toISOString())
    return outcomes
  }

  function sweepDaily(): void {
    const now = clock.now().getTime()
    if (now - sweptAt < sweepMs) return
    sweptAt = now
    state.store.sweep()
  }

  async function turn(): Promise<string | null> {
    try {
      sweepDaily()
      return (await work(state.context())).next
    } catch (error) {
      const message = error instanceof Error ? error.message : 'unknown'
      log.error('work.failed', { repository: state.id, message })
      return new Date(clock.now().getTime() + retryAfterFaultMs).toISOString()
    }
  }

  async function turns(): Promise<void> {
    try {
      // Telling the directory takes time too: a call that comes meanwhile is seen by the next turn.
      while (again) {
        again = false
        if (state.names.current() === null) return
        await state.changed(await turn())
      }
    } finally {
      // In the same step as the last look at `again`, so that no call falls between.
      working = null
    }
  }

  return {
    async deliver({ repository, ...delivery }) {
      await state.prove(repository)
      return arrivals.add(delivery)
    },

    tick() {
      again = true
      // Begun a moment later, so that the turns cannot be over before they are known to run.
      working ??= Promise.resolve().then(turns)
      return working
    },
  }
}
