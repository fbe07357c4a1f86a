import type { Account } from './facts.ts'
import type { ApprovalSettings } from './record.ts'
import type { Requester } from './view.ts'

/** Who caused a run, as the API shows it at one attempt. */
export interface RequesterFacts {
  actor: Account
  triggeringActor: Account
  /** Actors of the run that a `workflow_run` event names, else null. */
  upstream: { actor: Account; triggeringActor: Account } | null
  pullRequestAuthor: Account | null
  /** Commits that the event brought, in order; accounts that GitHub could not match are null. */
  commits: { author: Account | null; committer: Account | null }[]
  /** Our App's bot account: as actor it stands for whoever caused the parent run. */
  ownAccountId: number | null
  /** The set so far: of this run's earlier attempts, or of the parent run. */
  inherited: readonly Requester[]
}

/** Further commits are not read; the issue says so. */
export const requesterCommitsMax = 250

/** GitHub's account for commits made on its website. */
const webFlowId = 19_864_447

/**
 * The set of requesters, which only grows. `role` tells how each came to be one, `bot` for accounts that are no people.
 * `isCut` where the event brought more commits than are read.
 */
export function requesters(facts: RequesterFacts): { requesters: Requester[]; isCut: boolean } {
  const set = new Map<number, Requester>(facts.inherited.map(requester => [requester.id, requester]))
  const add = (account: Account | null, role: string) => {
    if (account === null || account.id === facts.ownAccountId) return
    const known = set.get(account.id)
    if (known !== undefined) return
    set.set(account.id, { id: account.id, login: account.login, role: isPerson(account) ? role : 'bot' })
  }
  add(facts.actor, 'actor')
  add(facts.triggeringActor, 'triggering_actor')
  add(facts.upstream?.actor ?? null, 'upstream_actor')
  add(facts.upstream?.triggeringActor ?? null, 'upstream_triggering_actor')
  add(facts.pullRequestAuthor, 'pull_request_author')
  for (const commit of facts.commits.slice(0, requesterCommitsMax)) {
    add(commit.author, 'commit_author')
    add(commit.committer, 'commit_committer')
  }
  return { requesters: [...set.values()], isCut: facts.commits.length > requesterCommitsMax }
}

/**
 * Distinct approvals that a pause needs: where self-approval is prevented and no person is known to have caused the run,
 * whoever stands behind the bot could be the approver, so two people must agree.
 */
export function neededApprovals(settings: ApprovalSettings, set: readonly Requester[]): number {
  const onlyBots = set.every(requester => requester.role === 'bot')
  return settings.preventSelfApproval && onlyBots ? Math.max(2, settings.minimumApprovals) : settings.minimumApprovals
}

function isPerson(account: Account): boolean {
  return account.type === 'User' && account.id !== webFlowId
}
