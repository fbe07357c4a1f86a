import { payloadOf } from '../../ledger/index.ts'
import { LedgerError } from '../../ledger/port.ts'
import { unwrap } from '../problem.ts'
import { resolveRequest } from '../work/index.ts'
import type { AccessMemory } from './access.ts'
import type { RepositoryHandle } from './handle.ts'
import { answerOf } from './refusals.ts'
import { notFound, type RepositoryState } from './state.ts'

type PersonCalls = Pick<RepositoryHandle, 'access' | 'resolve' | 'cancel' | 'reconcile' | 'retryDeadLetter'>

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

    reconcile: ({ effect, person, evidence, result, ...word }) =>
      answerOf(async () => {
        unwrap(await access(person, 'write', true))
        const { store } = state
        const { run } = store.effect(effect) ?? notFound('effect')
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
