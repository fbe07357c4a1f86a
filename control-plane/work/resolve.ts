import type { PauseRecord, RunRecord } from '../../ledger/port.ts'
import { eligible, neededApprovals } from '../../policy/approval/index.ts'
import type { ApprovalRecord } from '../../policy/approval/record.ts'
import { type Answer, answered, refused } from '../problem.ts'
import type { RepositoryContext } from '../repository/context.ts'
import type { ResolveInput } from '../repository/handle.ts'
import { renderPause } from '../repository/issue.ts'
import { answerOf } from '../repository/refusals.ts'
import { boundIds, personFacts } from './inbox/facts.ts'
import { loginBoundRow, statusRow } from './rows.ts'

/**
 * A person's word on one item by page, API or CLI: the same rules as for a comment, save those about comments. Who may
 * decide is read from GitHub at this moment; the body that was decided on must be the one that is registered, or that
 * would be opened where none is.
 */
export async function resolveRequest(context: RepositoryContext, input: ResolveInput): Promise<Answer<ApprovalRecord>> {
  const { store } = context
  const found = open(context, input)
  if (!found.ok) return found
  const gathered = await personFacts(context, { ...input.person, type: 'User' }, found.value.record.settings)
  if (!gathered.ok)
    return refused(503, 'github_unavailable', `GitHub did not say who may decide: ${gathered.message}; try again`, 5)

  // From here on nothing waits: what is checked is what is committed.
  const now = open(context, input)
  if (!now.ok) return now
  const { item, pause, record } = now.value
  const { facts } = gathered
  const person = { ...input.person, type: 'User' }
  const eligibility = eligible({ ...facts, person, boundIds: boundIds(context, facts.settings) })
  if (!eligibility.ok) {
    return eligibility.retry
      ? refused(503, eligibility.code, `${eligibility.reason}: try again`, 5)
      : refused(403, eligibility.code, `${input.person.login} may not decide: ${eligibility.reason}`)
  }
  if (facts.settings.preventSelfApproval && record.requesters.some(({ id }) => id === input.person.id)) {
    return refused(403, 'requester', 'whoever caused the run may not decide about it: ask somebody else')
  }
  const id = context.ids.uuid()
  const binds = eligibility.binds.map(bind => loginBoundRow(bind.login, bind.id))
  return answerOf(() => {
    store.control(
      {
        run: record.run,
        commands: [
          {
            id,
            type: 'approval.vote',
            pause: pause.pause,
            items: [item.id],
            vote: input.outcome === 'approved' ? 'approve' : 'reject',
            person: { id: input.person.id, login: input.person.login },
            reason: input.reason,
            via: input.via,
            comment: null,
            bodyDigest: input.bodyDigest,
            needed: Math.max(item.needed, neededApprovals(facts.settings, record.requesters)),
          },
        ],
      },
      `github:${input.person.id}`,
      [statusRow({ run: record.run, pause: pause.pause }, id), ...binds],
    )
    return store.approval(item.id) ?? item
  })
}

interface Open {
  item: ApprovalRecord
  pause: PauseRecord
  record: RunRecord
}

/** The item, as long as there is something to decide about it and the body decided on is the current one. */
function open(context: RepositoryContext, { approval, bodyDigest }: ResolveInput): Answer<Open> {
  const { store, clock } = context
  const item = store.approval(approval)
  const pause = item === null ? null : store.pause(item.pause)
  const record = item === null ? null : store.record(item.run)
  if (item === null || pause === null || record === null)
    return refused(404, 'not_found', 'there is no such approval here')
  if (item.resolution !== null) {
    return refused(
      409,
      `already_${item.resolution.outcome}`,
      `this item is ${item.resolution.outcome} already; that is final`,
    )
  }
  if (record.pause !== pause.pause)
    return refused(409, 'pause_not_current', `run ${record.run} no longer waits for this pause`)
  if (clock.now().toISOString() >= pause.expiresAt) {
    return refused(
      409,
      'pause_expired',
      `the time to decide ended at ${pause.expiresAt}: run the workflow again to be asked anew`,
    )
  }
  const wanted = pause.issue?.bodyDigest ?? renderPause(context, record, pause).bodyDigest
  if (bodyDigest !== wanted) {
    return refused(
      409,
      'body_changed',
      `decided on a body with digest ${bodyDigest}, the current one has ${wanted}: look again, then decide`,
    )
  }
  return answered({ item, pause, record })
}
