import type { Json } from '../../policy/json.ts'
import { exportStream } from './export.ts'
import { readFloor } from './floor.ts'
import type { RepositoryHandle } from './handle.ts'
import { signHead } from './head.ts'
import { answerOf } from './refusals.ts'
import { notFound, type RepositoryState } from './state.ts'

type Reads = Pick<
  RepositoryHandle,
  | 'repository'
  | 'runs'
  | 'run'
  | 'plan'
  | 'effects'
  | 'approvals'
  | 'openApprovals'
  | 'approval'
  | 'events'
  | 'head'
  | 'exportAudit'
  | 'outbox'
  | 'floor'
>

/** What may be read by whoever was let in. */
export function reads(state: RepositoryState): Reads {
  const { config, clock } = state.world
  /** Of a run that must be there; of the ledger's chain where none is named. */
  const chainOf = (run: string | null) => (run === null ? 'ledger' : `run/${state.record(run).run}`)

  return {
    repository: async () => state.names.current(),

    runs: query => answerOf(() => state.store.runs(given(query))),

    run: run => answerOf(() => state.record(run)),

    plan: run => answerOf(() => (state.store.snapshot(run) ?? notFound('run')).plan),

    effects: run => answerOf(() => state.store.effects(state.record(run).run)),

    approvals: run => answerOf(() => state.store.pauses(state.record(run).run).flatMap(pause => state.itemsOf(pause))),

    openApprovals: async () =>
      state.store.openPauses().flatMap(pause => state.itemsOf(pause).filter(({ resolution }) => resolution === null)),

    approval: id => answerOf(() => state.approval(id)),

    events: ({ run, after, limit }) => answerOf(() => state.store.events({ chain: chainOf(run), after, limit })),

    head: run =>
      answerOf(() => {
        const chain = chainOf(run)
        const { seq, hash } = state.store.tip(chain)
        return signHead(config.auditKey, { ledger: state.store.ledger, chain, seq, head: hash })
      }),

    exportAudit: run =>
      answerOf(() => {
        chainOf(run)
        return exportStream(state.store.exportLines(run ?? undefined), state.world.hold())
      }),

    outbox: query => answerOf(() => state.store.outboxRows(given(query))),

    floor: () =>
      answerOf(async () => {
        const { floor, digest, sources } = await readFloor(state.context().github, clock.now())
        return { floor: floor as Json, floorDigest: digest, sources }
      }),
  }
}

/** A query without the members that ask for nothing. */
function given<Query extends object>(query: Query): { [Name in keyof Query]?: Exclude<Query[Name], null> } {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== null)) as {
    [Name in keyof Query]?: Exclude<Query[Name], null>
  }
}
