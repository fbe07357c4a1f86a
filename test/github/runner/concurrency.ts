import { interpolate } from './expressions.ts'
import type { RunAttempt, WorkflowRun } from './state.ts'

interface Group {
  running: RunAttempt | null
  pending: { attempt: RunAttempt; go(start: boolean): void } | null
}

/** Concurrency groups: one attempt runs, at most one waits, a newer one takes the waiting place. */
export class ConcurrencyGroups {
  readonly #groups = new Map<string, Group>()
  readonly #cancel: (attempt: RunAttempt) => void

  constructor(cancel: (attempt: RunAttempt) => void) {
    this.#cancel = cancel
  }

  /** Waits for the run's turn; false where a newer run took its waiting place or it was cancelled meanwhile. */
  async turn(run: WorkflowRun, attempt: RunAttempt, signal: AbortSignal): Promise<boolean> {
    const key = groupOf(run)
    if (key === null) return true
    const group = this.#groups.get(key) ?? { running: null, pending: null }
    this.#groups.set(key, group)
    if (!group.running) {
      group.running = attempt
      return true
    }
    group.pending?.go(false)
    if (run.definition.concurrency?.['cancel-in-progress'] === true) this.#cancel(group.running)
    return new Promise(resolve => {
      const go = (start: boolean) => {
        if (group.pending?.attempt === attempt) group.pending = null
        if (start) group.running = attempt
        resolve(start)
      }
      group.pending = { attempt, go }
      signal.addEventListener('abort', () => go(false), { once: true })
    })
  }

  /** The attempt is over: the waiting one starts. */
  leave(run: WorkflowRun, attempt: RunAttempt): void {
    const group = this.#groups.get(groupOf(run) ?? '')
    if (group?.running !== attempt) return
    group.running = null
    group.pending?.go(true)
  }
}

function groupOf(run: WorkflowRun): string | null {
  const group = run.definition.concurrency?.group
  if (group === undefined) return null
  const github = { ref: run.ref, workflow: run.workflow.name, run_id: run.id, head_ref: run.headRef }
  return `${run.repository.id}/${interpolate(group, { github, inputs: run.inputs })}`
}
