import { compensationsOf, payloadOf, vouchedFault } from '../../ledger/index.ts'
import { LedgerError } from '../../ledger/port.ts'
import type { Json } from '../../policy/json.ts'
import { createRedactor } from '../../policy/redact.ts'
import { problem, unwrap } from '../problem.ts'
import { resolveRequest } from '../work/index.ts'
import type { AccessMemory } from './access.ts'
import type { RepositoryHandle } from './handle.ts'
import { answerOf } from './refusals.ts'
import { notFound, type RepositoryState } from './state.ts'

type PersonCalls = Pick<
  RepositoryHandle,
  'access' | 'resolve' | 'cancel' | 'reconcile' | 'compensate' | 'retryDeadLetter'
>

/** What people change. Whether they may is read from GitHub at that moment, never from what is kept. */
export function personCalls(state: RepositoryState, memory: AccessMemory): PersonCalls {
  const { ids } = state.world
  const access: PersonCalls['access'] = (person, wanted, fresh) =>
    answerOf(() => memory.check(state.context().github, person, wanted, fresh))

  return {
    access,

    resolve: input =>
      answerOf(async () => {
        unwrap(await resolveRequest(state.context(), input))
        await state.changed()
        return state.approval(input.approval)
      }),

    cancel: ({ run, reason, person, via }) =>
      answerOf(async () => {
        unwrap(await access(person, 'write', true))
        const { endedAt, state: ended } = state.record(run)
        if (endedAt !== null) throw new LedgerError('conflict', `run ${run} is ${ended}: there is nothing to stop`)
        const command = { id: ids.uuid(), type: 'run.cancel', person, reason, via } as const
        state.store.control({ run, commands: [command] }, `github:${person.id}`)
        await state.changed()
        return state.record(run)
      }),

    reconcile: ({ effect, person, ...word }) =>
      answerOf(async () => {
        unwrap(await access(person, 'write', true))
        const { store } = state
        const { run, task } = store.effect(effect) ?? notFound('effect')
        const { evidence, result } = withoutSecrets(word)
        if (word.status === 'applied') await requireFitting(state, run, task, result)
        else if (result !== null)
          throw problem(422, 'invalid_result', `a result goes with applied, not with ${word.status}`)
        const keep = (bytes: Uint8Array) => store.putBlob(bytes)
        const command = {
          id: ids.uuid(),
          type: 'effect.reconcile',
          effect,
          ...word,
          evidence: payloadOf(evidence, keep),
          result: result === null ? null : payloadOf(result, keep),
          person,
        } as const
        store.control({ run, commands: [command] }, `github:${person.id}`)
        await state.changed()
        return store.effect(effect) ?? notFound('effect')
      }),

    compensate: ({ run, reason, person }) =>
      answerOf(async () => {
        unwrap(await access(person, 'write', true))
        const snapshot = state.store.snapshot(run) ?? notFound('run')
        const tasks = compensationsOf(snapshot)
        const isOver = snapshot.record.endedAt !== null && snapshot.record.state !== 'succeeded'
        // What else stands in the way is the ledger's to say.
        if (tasks.length === 0 && isOver && snapshot.record.state !== 'uncertain')
          throw problem(409, 'nothing_to_compensate', `nothing of run ${run} is left that says how it is undone`)
        const command = { id: ids.uuid(), type: 'run.compensate', tasks, person, reason } as const
        state.store.control({ run, commands: [command] }, `github:${person.id}`)
        await state.changed()
        return state.record(run)
      }),

    retryDeadLetter: ({ id, person }) =>
      answerOf(async () => {
        unwrap(await access(person, 'write', true))
        const row = state.store.outbox(id) ?? notFound('row')
        if (row.state !== 'dead') {
          throw new LedgerError('conflict', `row ${id} is ${row.state}: only a dead letter is retried`)
        }
        state.store.retryOutbox(id)
        await state.changed()
        return state.store.outbox(id) ?? row
      }),
  }
}

/** What a person hands in is recorded as what a run hands in is: under names that tell of secrets stands nothing. */
function withoutSecrets({ evidence, result }: { evidence: Json; result: Json }): { evidence: Json; result: Json } {
  const redactor = createRedactor([])
  return { evidence: redactor.json(evidence), result: redactor.json(result) }
}

/** Throws ProblemError 422 for a result that the run itself would not have taken for the task's output. */
async function requireFitting({ store }: RepositoryState, run: string, task: string, result: Json): Promise<void> {
  const snapshot = store.snapshot(run)
  const fault = snapshot === null ? null : await vouchedFault(snapshot, task, result)
  if (fault === null) return
  const remedy = "give the effect's output as `result`, as the task's outputSchema asks for it"
  throw problem(422, 'invalid_result', `task ${task}: ${fault}; ${remedy}`)
}
