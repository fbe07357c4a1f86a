import { describe, expect, it } from 'vitest'
import {
  type Account,
  defaultApprovalSettings,
  neededApprovals,
  type RequesterFacts,
  requesters,
  tally,
} from '../../policy/approval/index.ts'

const user = (id: number): Account => ({ id, login: `user-${id}`, type: 'User' })
const bot: Account = { id: 5, login: 'dependabot[bot]', type: 'Bot' }
const us: Account = { id: 900, login: 'agentctl[bot]', type: 'Bot' }
const facts = (change: Partial<RequesterFacts> = {}): RequesterFacts => ({
  actor: user(1),
  triggeringActor: user(1),
  upstream: null,
  pullRequestAuthor: null,
  commits: [],
  ownAccountId: 900,
  inherited: [],
  ...change,
})
const ids = (change: Partial<RequesterFacts>) => requesters(facts(change)).requesters.map(one => one.id)
const strict = { ...defaultApprovalSettings, preventSelfApproval: true }

describe('requesters', () => {
  it('are everybody who caused the run, each once', () => {
    const { requesters: set, isCut } = requesters(
      facts({
        triggeringActor: user(2),
        upstream: { actor: user(3), triggeringActor: user(1) },
        pullRequestAuthor: user(4),
        commits: [
          { author: user(6), committer: user(7) },
          { author: null, committer: user(6) },
        ],
      }),
    )
    expect(set.map(one => [one.id, one.role])).toEqual([
      [1, 'actor'],
      [2, 'triggering_actor'],
      [3, 'upstream_actor'],
      [4, 'pull_request_author'],
      [6, 'commit_author'],
      [7, 'commit_committer'],
    ])
    expect(isCut).toBe(false)
  })
  it('only grow', () => {
    expect(ids({ inherited: [{ id: 9, login: 'before', role: 'actor' }] })).toEqual([9, 1])
  })
  it("inherit the parent's set where our bot acts", () => {
    expect(ids({ actor: us, triggeringActor: us, inherited: [{ id: 9, login: 'before', role: 'actor' }] })).toEqual([9])
  })
  it('stop after 250 commits and say so', () => {
    const commits = Array.from({ length: 251 }, (_, number) => ({ author: user(1000 + number), committer: null }))
    const result = requesters(facts({ commits }))
    expect(result.requesters).toHaveLength(251)
    expect(result.isCut).toBe(true)
  })
  it('need two approvals where no person is among them and self-approval is prevented', () => {
    const bots = requesters(
      facts({
        actor: bot,
        triggeringActor: us,
        commits: [{ author: bot, committer: { id: 19_864_447, login: 'web-flow', type: 'User' } }],
      }),
    ).requesters
    expect(neededApprovals(strict, bots)).toBe(2)
    expect(neededApprovals({ ...strict, minimumApprovals: 3 }, bots)).toBe(3)
    expect(neededApprovals(strict, [])).toBe(2)
    expect(neededApprovals(strict, requesters(facts()).requesters)).toBe(1)
    expect(neededApprovals(defaultApprovalSettings, bots)).toBe(1)
  })
})

describe('votes', () => {
  const vote = (id: number, word: 'approve' | 'reject', login = `user-${id}`) => ({
    item: 'i',
    vote: word,
    person: { id, login },
    at: '',
  })
  it('count one person once, whatever they are called (case 2)', () => {
    expect(tally([vote(1, 'approve', 'Alice'), vote(1, 'approve', 'alice')], 'i').approvals).toHaveLength(1)
    expect(tally([vote(1, 'approve'), vote(2, 'approve')], 'i').approvals).toHaveLength(2)
  })
  it('end with one rejection, also of somebody who approved before (case 10)', () => {
    expect(tally([vote(1, 'approve'), vote(2, 'approve'), vote(1, 'reject')], 'i')).toMatchObject({
      approvals: [],
      rejectedBy: { id: 1 },
    })
  })
  it('are counted for their item only', () => {
    expect(tally([vote(1, 'approve')], 'other')).toEqual({ approvals: [], rejectedBy: null })
  })
})
