import type { LeaseCommand } from '../ledger/commands.ts'
import type { Ledger, RunSnapshot } from '../ledger/port.ts'
import { endOfRun } from '../ledger/transitions.ts'
import type { Ids } from '../policy/ports.ts'
import type { RunState } from '../policy/states.ts'
import { reconcileCommand } from '../runner/outcome.ts'

/** What became of a run that main left running. */
export interface SettledRun {
  state: RunState
  /** One line each, for a person. */
  messages: string[]
}

type Draft = LeaseCommand extends infer C ? (C extends { id: string } ? Omit<C, 'id'> : never) : never

/**
 * Records what main could not: an effect that was started and whose result nobody saw is uncertain, and so is the run. One
 * in which nothing was under way ends where its tasks say so already; else it is given back to go on (`release`), or ends
 * where nothing can resume it (`end`). The caller holds the lease at `epoch`. Throws LedgerError.
 */
export async function settleRun(
  ledger: Pick<Ledger, 'apply'>,
  ids: Ids,
  { snapshot, epoch }: { snapshot: RunSnapshot; epoch: number },
  rest: 'release' | 'end',
): Promise<SettledRun> {
  const { run } = snapshot.record
  const to = endOf(snapshot, rest)
  const commands: Draft[] = [
    ...interruptions(snapshot),
    to === null ? { type: 'lease.release' } : { type: 'run.finish', to, outputs: null },
  ]
  await ledger.apply({ run, epoch, commands: commands.map(draft => ({ ...draft, id: ids.uuid() })) })
  return { state: to ?? 'running', messages: to === 'uncertain' ? uncertain(snapshot) : [] }
}

function endOf(
  { tasks, effects, former }: RunSnapshot,
  rest: 'release' | 'end',
): Exclude<RunState, 'running' | 'paused'> | null {
  const isUnknown = effects.some(({ state }) => state === 'started' || state === 'uncertain')
  if (isUnknown || tasks.some(({ state }) => state === 'uncertain')) return 'uncertain'
  const stopping = tasks.filter(
    ({ state, failure }) => (state === 'failed' || state === 'denied') && failure === 'stop',
  )
  if (rest === 'release' && stopping.length === 0) return null
  const states = tasks.map(({ state, compensates }) => ({ state, isCompensation: compensates !== undefined }))
  const end = endOfRun(states, former ?? null)
  return end === 'succeeded' ? 'cancelled' : end
}

function interruptions({ effects, tasks }: RunSnapshot): Draft[] {
  const message = "the Action's process ended before its result was seen; find out what happened, then reconcile it"
  const error = { code: 'interrupted', message }
  return effects
    .filter(({ state }) => state === 'started')
    .flatMap(({ effect, task, attempt }): Draft[] => {
      const finish: Draft = { type: 'effect.finish', effect, to: 'uncertain', result: null, error, artifacts: [] }
      const isOpen = tasks.some(one => one.task === task && ['pending', 'waiting', 'running'].includes(one.state))
      if (!isOpen) return [finish]
      const rest = { output: null, error, condition: null, memory: null }
      return [finish, { type: 'task.move', task, attempt, to: 'uncertain', ...rest }]
    })
}

function uncertain({ effects }: RunSnapshot): string[] {
  return effects
    .filter(({ state }) => state === 'started' || state === 'uncertain')
    .map(({ task, effect }) => `task ${task} is uncertain: ${reconcileCommand(effect)}`)
}
