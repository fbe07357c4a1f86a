import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Account, type DecisionFacts, judge, parseComment, type Verdict } from '../../policy/approval/index.ts'
import { approvalSettings, bindingSettings, parseFloor } from '../../policy/decision/index.ts'
import { alice, facts, item, mallory, pause, resolved, says } from './pauses.ts'

const settings = facts().settings
const issue = facts().issue
const two = pause([item(1), item(2)])
const bot = { id: 77, login: 'helper[bot]', type: 'Bot' }

describe('a comment that counts', () => {
  it('is a vote with its items, person, body and needed approvals', () => {
    expect(judge(facts({ comment: says('/approve ship it') }))).toEqual({
      kind: 'vote',
      vote: 'approve',
      items: [item(1).id],
      reason: 'ship it',
      person: { id: 1, login: 'Alice' },
      needed: 1,
      bodyDigest: pause().issue?.bodyDigest,
      binds: [],
    })
  })

  it.each<[string, Partial<DecisionFacts>, object]>([
    [
      'found by reconciliation and never edited',
      { event: 'reconciled', sender: null, comment: { id: 5, body: '/approve', lastEditedAt: null } },
      { kind: 'vote', vote: 'approve' },
    ],
    [
      'a rejection without items',
      { comment: says('/reject'), pause: two },
      { kind: 'vote', vote: 'reject', items: [item(1).id, item(2).id] },
    ],
    ['a plain word', { comment: says('LGTM!') }, { kind: 'vote', vote: 'approve' }],
    ['the last second', { now: '2026-03-08T09:59:59.999Z' }, { kind: 'vote' }],
    ['a requester where that is allowed', { requesters: [{ id: 1, login: 'Alice', role: 'actor' }] }, { kind: 'vote' }],
    [
      'a user who is called like a bot',
      { author: { id: 8, login: 'dependabot', type: 'User' } },
      { kind: 'vote', person: { id: 8 } },
    ],
    [
      'the stricter number of approvals',
      { settings: { ...settings, minimumApprovals: 3 } },
      { kind: 'vote', needed: 3 },
    ],
    [
      'the number at the pause, where the floor has loosened since',
      { pause: pause([item(1, { needed: 2 })]) },
      { kind: 'vote', needed: 2 },
    ],
    [
      'two approvals where only bots caused the run',
      { settings: { ...settings, preventSelfApproval: true }, requesters: [{ id: 7, login: 'x[bot]', role: 'bot' }] },
      { kind: 'vote', needed: 2 },
    ],
    [
      'two approvals where nobody is known to have caused it',
      { settings: { ...settings, preventSelfApproval: true }, requesters: [] },
      { kind: 'vote', needed: 2 },
    ],
    [
      'cancel with its reason',
      { comment: says('/cancel wrong tag') },
      { kind: 'cancel', person: { id: 1 }, reason: 'wrong tag' },
    ],
    [
      'cancel although the issue was edited',
      { comment: says('/cancel'), issue: { ...issue, everEdited: true } },
      { kind: 'cancel' },
    ],
    [
      'cancel by a requester',
      {
        comment: says('/cancel'),
        settings: { ...settings, preventSelfApproval: true },
        requesters: [{ id: 1, login: 'Alice', role: 'actor' }],
      },
      { kind: 'cancel' },
    ],
    [
      'status by triage',
      { comment: says('/status'), permission: { ok: true, permission: 'read', role: 'triage' } },
      { kind: 'status' },
    ],
    [
      'status of what is over',
      {
        comment: says('/status'),
        pause: pause([item(1, { resolution: resolved('approved') })], { state: 'resolved' }),
      },
      { kind: 'status' },
    ],
  ])('%s', (_, change, expected) => {
    expect(judge(facts(change))).toMatchObject(expected)
  })
})

describe('a comment that does not count has its own reason', () => {
  const rows: [string, Partial<DecisionFacts>, string][] = [
    [
      'edited by a maintainer into an approval (case 1)',
      { event: 'edited', sender: { id: 2, login: 'maintainer', type: 'User' } },
      'comment_edited',
    ],
    ['edited by its author', { event: 'edited' }, 'comment_edited'],
    ['edited and seen before', { event: 'edited', commentSeen: true }, 'comment_edited'],
    [
      'found by reconciliation, edited',
      { event: 'reconciled', sender: null, comment: { id: 5, body: '/approve', lastEditedAt: '2026-03-02T09:00:00Z' } },
      'comment_edited',
    ],
    ['sent by somebody else', { sender: mallory }, 'sender_not_author'],
    ['sent by nobody', { sender: null }, 'sender_not_author'],
    ['of a bot (case 3)', { author: bot, sender: bot }, 'not_a_person'],
    ['of an organisation', { author: { id: 4, login: 'org', type: 'Organization' } }, 'not_a_person'],
    ['of an account without type', { author: { id: 4, login: 'x', type: '' } }, 'not_a_person'],
    ['through an app', { performedViaApp: true }, 'via_app'],
    ['on a pull request', { issue: { ...issue, isPullRequest: true } }, 'pull_request'],
    ['on another issue', { issue: { ...issue, number: 13 } }, 'not_registered_issue'],
    ['where no issue is registered', { pause: pause([item(1)], { issue: null }) }, 'not_registered_issue'],
    [
      'after a push made another plan current (case 13)',
      { isCurrentPause: false, newerPlanDigest: 'f'.repeat(64) },
      'pause_not_current',
    ],
    [
      'after it expired (case 14)',
      {
        pause: pause([item(1, { resolution: resolved('expired') })], { state: 'resolved' }),
        isCurrentPause: false,
        issue: { ...issue, state: 'closed' },
      },
      'pause_expired',
    ],
    ['at the moment it expires', { now: '2026-03-08T10:00:00.000Z' }, 'pause_expired'],
    ['where the time cannot be read', { now: 'now' }, 'pause_expired'],
    ['where the expiry cannot be read', { pause: pause([item(1)], { expiresAt: '' }) }, 'pause_expired'],
    [
      'after everything was decided',
      { pause: pause([item(1, { resolution: resolved('approved') })], { state: 'resolved' }) },
      'pause_resolved',
    ],
    ['on a closed issue', { issue: { ...issue, state: 'closed' } }, 'issue_closed'],
    ['after the issue was edited (case 12)', { issue: { ...issue, bodyDigest: 'e'.repeat(64) } }, 'issue_edited'],
    ['after the issue was edited and restored', { issue: { ...issue, everEdited: true } }, 'issue_edited'],
    [
      'without permission (case 5)',
      { permission: { ok: true, permission: 'read', role: 'read' } },
      'permission_too_low',
    ],
    ['with no permission at all', { permission: { ok: true, permission: 'none', role: null } }, 'permission_too_low'],
    ['with a permission nobody knows', { permission: { ok: true, permission: '', role: '' } }, 'permission_too_low'],
    [
      'with triage where write is needed',
      { permission: { ok: true, permission: 'read', role: 'triage' } },
      'permission_too_low',
    ],
    [
      'with write where maintain is needed',
      { settings: { ...settings, permission: 'maintain' } },
      'permission_too_low',
    ],
    [
      'by somebody who is not listed',
      { settings: { ...settings, users: [{ login: 'carol', id: null }] } },
      'not_an_approver',
    ],
    ['where nobody is left on the list', { settings: { ...settings, users: [], teams: [] } }, 'nobody_eligible'],
    [
      'by whoever took over a listed login',
      { settings: { ...settings, users: [{ login: 'alice', id: 2 }] } },
      'login_id_mismatch',
    ],
    [
      'by whoever took over a login that was bound at its first use',
      { settings: { ...settings, users: [{ login: 'alice', id: null }] }, boundIds: { alice: 2 } },
      'login_id_mismatch',
    ],
    [
      'by a requester',
      {
        settings: { ...settings, preventSelfApproval: true },
        requesters: [{ id: 1, login: 'renamed', role: 'commit_author' }],
      },
      'requester',
    ],
    ['a plain word on two items', { comment: says('yes'), pause: two }, 'plain_words_several_items'],
    [
      'a plain word that the floor does not allow',
      { comment: says('yes'), settings: { ...settings, plainWords: false } },
      'plain_words_not_allowed',
    ],
    ['without items on two', { pause: two }, 'items_needed'],
    ['with an item that does not exist', { comment: says('/approve 9') }, 'item_unknown'],
    ['all and an item', { comment: says('/approve all 1'), pause: two }, 'all_with_items'],
    [
      'an item that is decided',
      { comment: says('/approve 1'), pause: pause([item(1, { resolution: resolved('rejected') }), item(2)]) },
      'item_decided',
    ],
    [
      'cancel without write',
      { comment: says('/cancel'), permission: { ok: true, permission: 'read', role: 'triage' } },
      'cancel_needs_write',
    ],
    [
      'cancel after the end',
      {
        comment: says('/cancel'),
        pause: pause([item(1, { resolution: resolved('approved') })], { state: 'resolved' }),
      },
      'pause_resolved',
    ],
    [
      'status without triage',
      { comment: says('/status'), permission: { ok: true, permission: 'read', role: 'read' } },
      'status_needs_triage',
    ],
  ]
  it.each(rows)('%s', (_, change, code) => {
    const verdict = judge(facts(change))
    expect(verdict).toMatchObject({ kind: 'refuse', code, voidIssue: code === 'issue_edited' })
    if (verdict.kind !== 'refuse') return
    expect(verdict.reply).toContain('does not count')
    expect(parseComment(verdict.reply)).toBeNull()
  })

  it('names both plans after a push (case 13) and the expiry after Sunday (case 14)', () => {
    const newer = judge(facts({ isCurrentPause: false, newerPlanDigest: 'f'.repeat(64) }))
    expect(newer).toMatchObject({
      reply: expect.stringMatching(new RegExp(`${item(1).planDigest}[^]*${'f'.repeat(64)}`)),
    })
    const late = judge(facts({ now: '2026-03-09T10:00:00Z' }))
    expect(late).toMatchObject({ reply: expect.stringContaining('2026-03-08 10:00 UTC') })
  })

  it('gives people without triage permission a reaction only', () => {
    expect(judge(facts({ permission: { ok: true, permission: 'read', role: 'read' } }))).toMatchObject({
      reactionOnly: true,
    })
    expect(
      judge(
        facts({
          permission: { ok: true, permission: 'write', role: 'write' },
          settings: { ...settings, permission: 'admin' },
        }),
      ),
    ).toMatchObject({ reactionOnly: false })
  })
})

describe('nothing to say', () => {
  it.each<[string, Partial<DecisionFacts>, string]>([
    ['talk', { comment: says('thanks!') }, 'no_command'],
    ['talk by a bot', { comment: says('thanks!'), author: bot }, 'no_command'],
    ['an edit of talk', { event: 'edited', comment: says('thanks!') }, 'no_command'],
    [
      'our own text, quoted by us (case 3)',
      { author: { id: 900, login: 'agentctl[bot]', type: 'Bot' } },
      'own_comment',
    ],
    ['our own account where it is a user', { author: { id: 900, login: 'agentctl', type: 'User' } }, 'own_comment'],
    ['the same comment once more', { commentSeen: true }, 'comment_seen'],
    ['a deleted comment', { event: 'deleted' }, 'comment_deleted'],
  ])('%s', (_, change, code) => {
    expect(judge(facts(change))).toEqual({ kind: 'ignore', code })
  })
})

describe('a fact that is missing is asked for again (cases 11 and 19)', () => {
  it.each<[string, Partial<DecisionFacts>, string]>([
    ['permission 404', { permission: { ok: false, status: 404, message: 'not found' } }, 'permission_unavailable'],
    ['permission 500', { permission: { ok: false, status: 500, message: 'oops' } }, 'permission_unavailable'],
    [
      'permission for status',
      { comment: says('/status'), permission: { ok: false, status: 500, message: 'oops' } },
      'permission_unavailable',
    ],
    [
      'permission for cancel',
      { comment: says('/cancel'), permission: { ok: false, status: 502, message: 'oops' } },
      'permission_unavailable',
    ],
    [
      'a team that did not answer',
      { settings: { ...settings, teams: ['org/a'] }, memberships: { 'org/a': 'error' } },
      'membership_unavailable',
    ],
    ['a team that was not asked', { settings: { ...settings, teams: ['org/a'] } }, 'membership_unavailable'],
    [
      "the comment's history",
      { event: 'reconciled', sender: null, comment: { id: 5, body: '/approve', lastEditedAt: undefined } },
      'edit_history_unavailable',
    ],
    ["the issue's history", { issue: { ...issue, everEdited: null } }, 'issue_unavailable'],
    ["the issue's body", { issue: { ...issue, bodyDigest: null } }, 'issue_unavailable'],
  ])('%s', (_, change, code) => {
    expect(judge(facts(change))).toMatchObject({ kind: 'retry', code })
  })
})

describe('who is listed', () => {
  const listed = (change: object, more: Partial<DecisionFacts> = {}): Verdict =>
    judge(facts({ settings: { ...settings, ...change }, ...more }))

  it('is a login in any case, bound to its id at first use (case 2)', () => {
    expect(listed({ users: [{ login: 'ALICE', id: null }] })).toMatchObject({
      kind: 'vote',
      binds: [{ login: 'alice', id: 1 }],
    })
    expect(listed({ users: [{ login: 'alice', id: null }] }, { boundIds: { alice: 1 } })).toMatchObject({
      kind: 'vote',
      binds: [],
    })
  })
  it('is an account under whatever name', () => {
    expect(listed({ users: [{ login: 'old-name', id: 1 }] })).toMatchObject({ kind: 'vote', binds: [] })
  })
  it('is an active member of one of the teams', () => {
    expect(
      listed({ teams: ['org/a', 'org/b'] }, { memberships: { 'org/a': 'none', 'org/b': 'active' } }),
    ).toMatchObject({ kind: 'vote' })
    expect(listed({ teams: ['org/a'] }, { memberships: { 'org/a': 'pending' } })).toMatchObject({
      code: 'not_an_approver',
    })
    expect(
      listed({ teams: ['org/a', 'org/b'] }, { memberships: { 'org/a': 'error', 'org/b': 'active' } }),
    ).toMatchObject({ kind: 'vote' })
  })
  it('needs no team where the user is listed', () => {
    expect(
      listed({ users: [{ login: 'alice', id: 1 }], teams: ['org/a'] }, { memberships: { 'org/a': 'error' } }),
    ).toMatchObject({ kind: 'vote' })
  })
  it('still needs the permission', () => {
    expect(
      listed({ users: [{ login: 'alice', id: 1 }] }, { permission: { ok: true, permission: 'read', role: 'read' } }),
    ).toMatchObject({ code: 'permission_too_low' })
  })
  it('does not depend on others on the list being there at all (case 6)', () => {
    expect(
      listed({
        users: [
          { login: 'deleted', id: null },
          { login: 'alice', id: null },
        ],
      }),
    ).toMatchObject({ kind: 'vote' })
  })

  it.each([
    ['read', 'triage', 'triage', true],
    ['write', 'maintain', 'maintain', true],
    ['write', 'custom-role', 'write', true],
    ['write', 'custom-role', 'maintain', false],
    ['admin', 'admin', 'admin', true],
    ['admin', null, 'maintain', true],
    ['read', null, 'triage', false],
    ['read', 'read', 'read', true],
    ['none', '', 'read', false],
  ] as const)('permission %s with role %s reaches %s: %s', (permission, role, needed, enough) => {
    const verdict = listed({ permission: needed }, { permission: { ok: true, permission, role } })
    expect(verdict.kind).toBe(enough ? 'vote' : 'refuse')
  })
})

it('binds by the stricter of the floors then and now', () => {
  const atPause = approvalSettings(null, {})
  const now = parseFloor({ approvers: { users: ['carol'] } })
  if (!atPause.ok || !now.ok) throw new Error('fixture')
  expect(judge(facts({ settings: bindingSettings(atPause.settings, now.floor) }))).toMatchObject({
    code: 'not_an_approver',
  })
})

it('never approves unless every fact speaks for it', () => {
  // Mostly good, so that one bad fact among good ones is the usual case.
  const mostly = <Value>(good: Value, ...bad: Value[]) =>
    fc.oneof({ weight: 12, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: fc.constantFrom(...bad) })
  const change = fc.record({
    event: fc.constantFrom<DecisionFacts['event']>(
      'created',
      'created',
      'reconciled',
      'edited',
      'deleted',
      'other' as never,
    ),
    commentSeen: mostly(false, true),
    author: mostly<Account>(alice, mallory, bot, { id: 900, login: 'us', type: 'User' }),
    sender: mostly<Account | null>(alice, mallory, null),
    performedViaApp: mostly(false, true),
    isCurrentPause: mostly(true, false),
    permission: mostly<DecisionFacts['permission']>(
      { ok: true, permission: 'write', role: 'write' },
      { ok: true, permission: 'read', role: 'read' },
      { ok: false, status: 500, message: '' },
    ),
    issue: fc.record<DecisionFacts['issue']>({
      number: mostly(12, 13),
      state: mostly<'open' | 'closed'>('open', 'closed'),
      isPullRequest: mostly(false, true),
      bodyDigest: mostly<string | null>(issue.bodyDigest, null, 'e'.repeat(64)),
      everEdited: mostly<boolean | null>(false, true, null),
    }),
    requesters: mostly<DecisionFacts['requesters']>([], [{ id: 1, login: 'a', role: 'actor' }]),
    now: mostly('2026-03-02T10:00:00Z', '2026-04-02T10:00:00Z'),
    lastEditedAt: mostly<string | null | undefined>(null, undefined, '2026-03-02T10:00:00Z'),
  })
  let votes = 0
  fc.assert(
    fc.property(change, ({ lastEditedAt, ...rest }) => {
      const asked = facts({
        ...rest,
        person: rest.author,
        settings: { ...settings, preventSelfApproval: true },
        comment: { id: 1, body: '/approve', lastEditedAt },
      })
      const counts =
        ((rest.event === 'created' && rest.sender?.id === rest.author.id) ||
          (rest.event === 'reconciled' && lastEditedAt === null)) &&
        !rest.commentSeen &&
        (rest.author === alice || rest.author === mallory) &&
        !rest.performedViaApp &&
        rest.isCurrentPause &&
        rest.permission.ok &&
        rest.permission.permission === 'write' &&
        rest.issue.number === 12 &&
        rest.issue.state === 'open' &&
        !rest.issue.isPullRequest &&
        rest.issue.bodyDigest === issue.bodyDigest &&
        rest.issue.everEdited === false &&
        !rest.requesters.some(one => one.id === rest.author.id) &&
        rest.now < '2026-03-08'
      if (counts) votes++
      expect(judge(asked).kind === 'vote').toBe(counts)
    }),
    { numRuns: 3000 },
  )
  expect(votes).toBeGreaterThan(100)
})
