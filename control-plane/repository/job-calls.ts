import { LedgerError, type RunRecord } from '../../ledger/port.ts'
import type { LeaseClaims } from '../auth/claims.ts'
import { leaseTokenRenewSeconds, signLease } from '../auth/lease-token.ts'
import { problem, unwrap } from '../problem.ts'
import { verifyRegistration } from '../work/index.ts'
import { attach } from './attach.ts'
import { attachAnswer } from './attach-answer.ts'
import { currentRun } from './current-run.ts'
import { attachFacts, repositoryInfo } from './facts.ts'
import { allowsWorkflow } from './floor.ts'
import type { RepositoryHandle } from './handle.ts'
import { pauseIssueOf } from './issue.ts'
import { answerOf } from './refusals.ts'
import { attachRequesters, attachSettings } from './settings.ts'
import { notFound, type RepositoryState } from './state.ts'

type JobCalls = Pick<
  RepositoryHandle,
  'attach' | 'apply' | 'snapshot' | 'longTerm' | 'putBlobPart' | 'getBlobPart' | 'pauseIssue' | 'register'
>

/** What the Action calls: attach with its OIDC token, everything else under its lease. */
export function jobCalls(state: RepositoryState): JobCalls {
  return {
    attach: input => answerOf(() => attachJob(state, input)),

    apply: ({ lease, batch }) =>
      answerOf(async () => {
        if (batch.epoch !== lease.epoch) throw stale(lease)
        const receipt = state.store.apply(batch, lease.actor)
        if (batch.commands.some(({ type }) => type === 'run.pause' || type === 'run.finish')) await state.changed()
        return { ...receipt, ...(await renewed(state, lease)) }
      }),

    snapshot: ({ lease }) =>
      answerOf(() => {
        heldRecord(state, lease)
        return state.store.snapshot(lease.run) ?? notFound('run')
      }),

    longTerm: ({ lease, query }) =>
      answerOf(() => {
        heldRecord(state, lease)
        const { namespace, key, query: words, limit } = query
        if ((key === undefined) === (words === undefined)) throw problem(422, 'invalid', 'name either key or query')
        if (words !== undefined) return { items: state.store.searchLongTerm(namespace, words, limit) }
        const item = state.store.longTerm(namespace, key ?? '')
        return { items: item === null ? [] : [item] }
      }),

    putBlobPart: ({ lease, sha256, part, totalBytes, bytes }) =>
      answerOf(() => {
        // A large plan is stored before the batch that creates its run.
        const isToCome = state.store.record(lease.run) === null
        if (!isToCome && state.store.lease(lease.run)?.epoch !== lease.epoch) throw stale(lease)
        state.store.putBlobPart(sha256, part, totalBytes, bytes, lease.run)
        return null
      }),

    getBlobPart: (sha256, part) => answerOf(() => state.store.getBlobPart(sha256, part) ?? notFound('blob part')),

    pauseIssue: ({ lease }) => answerOf(() => pauseIssueOf(state.context(), heldRecord(state, lease))),

    register: ({ lease, pause, issue }) =>
      answerOf(async () => {
        heldRecord(state, lease)
        const registered = unwrap(await verifyRegistration(state.context(), lease.run, pause, issue))
        await state.changed()
        return registered
      }),
  }
}

/** From a verified OIDC token to a row of the attempt table. */
async function attachJob(state: RepositoryState, { claims, request }: Parameters<JobCalls['attach']>[0]) {
  const { clock, config } = state.world
  const github = state.github({ id: claims.repositoryId, owner: claims.owner, name: claims.repository })
  // GitHub first: a job of a repository without our App leaves no trace here.
  const info = await repositoryInfo(github, claims, clock.now())
  const keptUntil = new Date((claims.expires + 60) * 1000).toISOString()
  if (!state.store.useOnce(`oidc ${claims.jti}`, keptUntil)) {
    throw problem(401, 'token_replayed', 'this OIDC token was used before: ask GitHub for a new one')
  }
  await state.prove({ id: info.id, owner: info.owner, name: info.name })
  const { instance, floor, participants } = await attachFacts(github, info, claims, request, clock.now())
  if (!allowsWorkflow(floor.floor, claims.workflowRef)) {
    const message = `the floor's allowedWorkflowRefs do not name ${claims.workflowRef}: run it from one that they name`
    throw problem(403, 'workflow_ref_not_allowed', message)
  }
  const settings = attachSettings(floor.floor, request)
  // From here to the end of `attach` nothing waits: what is read is what is decided on.
  const found = currentRun(state.opened, { claims, request, instance })
  const requesters = attachRequesters(participants, found?.requesters ?? [])
  const attached = attach(state.opened, { claims, request, instance, settings, requesters })
  await state.changed()
  return attachAnswer({ config, claims, info, attached, floor, now: clock.now() })
}

/** The run that a lease token is bound to, as long as nobody has taken it over. */
function heldRecord(state: RepositoryState, lease: LeaseClaims): RunRecord {
  const record = state.record(lease.run)
  if (record.epoch !== lease.epoch) throw stale(lease)
  return record
}

async function renewed({ world }: RepositoryState, lease: LeaseClaims): Promise<{ token?: string }> {
  const now = world.clock.now()
  if (now.getTime() / 1000 - lease.issuedAt < leaseTokenRenewSeconds) return {}
  const { issuedAt, ...bound } = lease
  return { token: (await signLease(world.config, bound, now)).token }
}

const stale = ({ run, epoch }: LeaseClaims): LedgerError =>
  new LedgerError(
    'stale_epoch',
    `the lease token is of epoch ${epoch} of run ${run}, which is not its epoch: attach again`,
  )
