import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type GitHubDouble, startGitHub } from '../github/index.ts'
import { type AskingRepository, askingRepository } from '../harness/asking.ts'
import { type ControlPlane, startControlPlane } from '../harness/control-plane.ts'

let github: GitHubDouble
let plane: ControlPlane
let count = 0

beforeAll(async () => {
  // One installation for all repositories of this file: GitHub's pace is another file's subject.
  github = await startGitHub({ limits: { contentPerMinute: 10_000, contentPerHour: 10_000 } })
  plane = await startControlPlane(github)
})
afterAll(async () => {
  await plane.close()
  await github.close()
})

const place = (options: Parameters<typeof askingRepository>[2] = {}): AskingRepository =>
  askingRepository(github, plane, { name: `octo/deciding-${++count}`, ...options })

const floor = (spec: object) => ({
  '.github/agentctl/floor.yaml': JSON.stringify({
    apiVersion: 'agentctl.dev/v1',
    kind: 'SecurityFloor',
    metadata: { name: 'floor' },
    spec,
  }),
})
const three = ['build', 'deploy', 'announce'].map(id => ({ id, failure: 'continue' as const }))

describe('one item: what a person types decides it', () => {
  test.each([
    ['/approve', 'approved'],
    ['/approve 1 .* ( $(id)', 'approved'],
    ['/approve #1', 'approved'],
    ['/approve write', 'approved'],
    ['/approve all', 'approved'],
    ['/approve looks right', 'approved'],
    ['/approve\n\n', 'approved'],
    ['\r\n`/approve`\r\n', 'approved'],
    ['> /reject\n\n/approve', 'approved'],
    ['```\n/reject\n```\n/approve', 'approved'],
    ['<!-- /reject -->\n/approve\n/reject', 'approved'],
    ['LGTM!', 'approved'],
    ['yes', 'approved'],
    ['/reject 1 not today', 'rejected'],
    ['Denied.', 'rejected'],
    ['no', 'rejected'],
  ])('%j: %s', async (body, outcome) => {
    const asked = await place().ask()
    const comment = await asked.say('bob', body)
    expect(await asked.decided()).toEqual([outcome])
    expect(comment.reactions.map(({ content }) => content)).toEqual([outcome === 'approved' ? '+1' : '-1'])
    expect(asked.issue.stateReason).toBe(outcome === 'approved' ? 'completed' : 'not_planned')
    if (outcome === 'rejected') expect(asked.starts()).toBe(0)
  })
})

describe('one item: what is no decision leaves it open', () => {
  test('talk, quotes, fences, later lines and lookalikes are ignored', async () => {
    const asked = await place().ask()
    const said = [
      'I would /approve this',
      'hello\n/approve',
      '> /approve',
      '```\n/approve\n```',
      '```\n/approve',
      '<!-- /approve -->',
      '/approved',
      'yes please',
      '- /approve',
      '／approve',
    ]
    for (const body of said) await asked.say('bob', body)
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    expect(await asked.notes()).toEqual([])
    expect(asked.issue.comments.filter(({ user }) => user.login === 'bob').flatMap(one => one.reactions)).toEqual([])
  })

  test.each([
    ['bob', '/approve 99', 'item_unknown', 'there is no item `99`'],
    ['bob', '/approve 1 #99 problems', 'item_unknown', 'there is no item `#99`'],
    ['bob', '/reject 99', 'item_unknown', 'there is no item `99`'],
    ['bob', '/approve all 1', 'all_with_items', '`all` stands alone'],
    ['carol', '/approve', 'permission_too_low', 'write permission is needed and this account has triage'],
    ['carol', '/cancel', 'cancel_needs_write', 'needs write permission'],
    ['dave', '/approve', 'permission_too_low', null],
    ['dave', '/status', 'status_needs_triage', null],
    ['mallory', '/approve', 'permission_too_low', null],
  ])('%s: %s is refused: %s', async (login, body, code, reply) => {
    const asked = await place().ask()
    const comment = await asked.say(login, body)
    await github.until(() => comment.reactions.length > 0 && (reply === null || asked.replies().length > 0))
    expect(comment.reactions.map(({ content }) => content)).toEqual(['confused'])
    expect(await asked.outcomes()).toEqual([null])
    expect(await asked.notes()).toEqual([code])
    if (reply === null) expect(asked.replies()).toEqual([])
    else expect(asked.replies().join()).toContain(reply)
  })

  test('single words where the floor does not take them', async () => {
    const asked = await place({ files: floor({ plainWords: false }) }).ask()
    await asked.say('bob', 'lgtm')
    await asked.judged()
    expect(await asked.notes()).toEqual(['plain_words_not_allowed'])
    expect(asked.issue.body).not.toMatch(/lgtm/i)
    await asked.say('bob', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
  })
})

describe('several items', () => {
  test.each([
    ['/approve', [null, null, null], 'items_needed'],
    ['/approve looks good', [null, null, null], 'items_needed'],
    ['lgtm', [null, null, null], 'plain_words_several_items'],
    ['no', [null, null, null], 'plain_words_several_items'],
    ['/approve 2', [null, 'approved', null], null],
    ['/approve #3 build', ['approved', null, 'approved'], null],
    ['/approve 1 99', [null, null, null], 'item_unknown'],
    ['/approve .*', [null, null, null], 'items_needed'],
    ['/reject deploy too early', [null, 'rejected', null], null],
  ])('%s: %j', async (body, outcomes, code) => {
    const asked = await place().ask({ tasks: three })
    await asked.say('bob', body)
    await asked.judged()
    expect(await asked.outcomes()).toEqual(outcomes)
    expect(await asked.notes()).toEqual(code === null ? [] : [code])
    if (code !== 'items_needed') return
    await github.until(() => asked.replies().length > 1)
    expect(asked.replies().join()).toMatch(/- 1: `build`\n- 2: `deploy`\n- 3: `announce`/)
  })

  test.each([
    ['/approve all', ['approved', 'approved', 'approved'], 1],
    ['/reject', ['rejected', 'rejected', 'rejected'], 0],
    ['/reject not before Monday', ['rejected', 'rejected', 'rejected'], 0],
  ])('%s: %j', async (body, outcomes, starts) => {
    const asked = await place().ask({ tasks: three })
    await asked.say('bob', body)
    expect(await asked.decided()).toEqual(outcomes)
    await github.until(() => asked.starts() === starts)
  })

  test('a rejected item whose task stops the run takes the open ones with it, not the decided', async () => {
    const asked = await place().ask({ tasks: [{ id: 'build' }, { id: 'deploy' }, { id: 'announce' }] })
    await asked.say('bob', '/approve 1')
    await asked.say('alice', '/reject 2')
    expect(await asked.decided()).toEqual(['approved', 'rejected', 'cancelled'])
    expect(asked.starts()).toBe(0)
  })

  test('decided one by one by several people: run again once, when the last one is', async () => {
    const there = place()
    const asked = await there.ask({ tasks: three })
    await asked.say('bob', '/approve 1')
    await asked.say('alice', '/reject 2')
    await asked.judged()
    expect(await asked.outcomes()).toEqual(['approved', 'rejected', null])
    expect(asked.starts()).toBe(0)
    await asked.say('bob', '/approve 2')
    await asked.judged()
    expect(await asked.notes()).toEqual(['item_decided'])
    await asked.say('bob', '/approve announce')
    expect(await asked.decided()).toEqual(['approved', 'rejected', 'approved'])
    await github.until(() => there.resumed.length > 0)
    expect(there.resumed).toMatchObject([{ outcome: 'resume', run: asked.run, epoch: 2 }])
    expect(asked.starts()).toBe(1)
  })
})

describe('more than one approval', () => {
  test('one person however often and by whatever way is one; the second person decides', async () => {
    const there = place()
    const asked = await there.ask({ settings: { minimumApprovals: 2 } })
    for (const body of ['/approve', 'lgtm', '/approve all']) await asked.say('bob', body)
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    const [approval = ''] = asked.approvals
    const path = `/v1/repos/${there.repository.fullName}/approvals/${approval}`
    const token = github.tokens.userToServer(github.users.ensure('bob'))
    const { bodyDigest } = (await there.client.get(path, token)).body as { bodyDigest: string }
    const word = { outcome: 'approved', reason: '', bodyDigest }
    expect(await there.client.post(`${path}/resolution`, token, word)).toMatchObject({
      status: 200,
      body: { resolution: null },
    })
    const other = github.tokens.userToServer(github.users.ensure('alice'))
    expect(await there.client.post(`${path}/resolution`, other, word)).toMatchObject({
      status: 200,
      body: { resolution: { outcome: 'approved', by: [{ login: 'bob' }, { login: 'alice' }] } },
    })
    expect(await asked.decided()).toEqual(['approved'])
  })

  test('a renamed person is still that person', async () => {
    const there = place({ collaborators: { shifty: 'write' } })
    const asked = await there.ask({ settings: { minimumApprovals: 2 } })
    await asked.say('shifty', '/approve')
    github.users.rename(github.users.ensure('shifty'), 'shifty-two')
    await asked.say('shifty-two', '/approve')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
  })

  test('until the quorum the last word stands, and a rejection is final', async () => {
    const asked = await place().ask({ settings: { minimumApprovals: 3 }, tasks: three })
    await asked.say('bob', '/approve all')
    await asked.say('bob', '/reject 2')
    await asked.say('alice', '/approve 2')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null, 'rejected', null])
    expect(await asked.notes()).toEqual(['item_decided'])
  })
})

describe('who wrote it, and where', () => {
  test('case 1: a maintainer edits a comment of an approver, then of nobody', async () => {
    const asked = await place().ask()
    const comment = await asked.say('bob', 'let me look')
    github.editComment(comment, '/approve', github.users.ensure('alice'))
    await github.deliveries.idle()
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    const edits = (await asked.events()).filter(({ data }) => data['code'] === 'comment_edited')
    expect(edits).toMatchObject([{ data: { data: { comment: comment.id, senderLogin: 'alice' } } }, {}])
    expect(asked.replies().join()).toContain('write a new comment')
  })

  test('a comment that was counted and then edited or deleted keeps its effect', async () => {
    const asked = await place().ask({ settings: { minimumApprovals: 2 } })
    const first = await asked.say('bob', '/approve')
    await asked.judged()
    github.editComment(first, '/reject')
    await github.deliveries.idle()
    github.deleteComment(first)
    await github.deliveries.idle()
    await asked.say('alice', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
    expect(await asked.notes()).toEqual(expect.arrayContaining(['comment_edited', 'comment_deleted']))
  })

  test('case 3: bots, Apps and jobs decide nothing, whatever they may write', async () => {
    const there = place({ collaborators: { dependabot: 'write' } })
    for (const login of ['dependabot[bot]', 'merger[bot]']) {
      if (github.users.find(login) === null) github.users.add({ login, type: 'Bot' })
      there.repository.setCollaborator(login, 'admin')
    }
    const asked = await there.ask()
    await asked.say('dependabot[bot]', '/approve')
    await asked.say('merger[bot]', '/approve')
    const own = github.users.byId(github.app.botId)
    if (own === null) throw new Error('our App has no account')
    await asked.say(own.login, '/approve')
    await asked.say('github-actions[bot]', '/approve')
    await asked.say('github-actions[bot]', asked.issue.body)
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    expect(new Set(await asked.notes())).toEqual(new Set(['not_a_person']))
    // A person whose login reads like a bot's is a person.
    await asked.say('dependabot', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
  })

  test('a person through an App', async () => {
    const there = place()
    const asked = await there.ask()
    const token = github.tokens.userToServer(github.users.ensure('bob'))
    const answer = await fetch(
      `${github.apiUrl}/repos/${there.repository.fullName}/issues/${asked.issue.number}/comments`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ body: '/approve' }),
      },
    )
    expect(answer.status).toBe(201)
    await github.deliveries.idle()
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    expect(await asked.notes()).toEqual(['via_app'])
  })

  test('on a pull request, on a copy of the issue, on any other issue', async () => {
    const there = place()
    const asked = await there.ask()
    const alice = github.users.ensure('alice')
    const bob = github.users.ensure('bob')
    there.repository.commit({ branch: 'topic', files: { 'a.txt': 'a' } })
    const pull = there.repository.pull({ title: 'Topic', user: alice, head: 'topic' })
    const { title, body } = asked.issue
    const copy = github.openIssue(there.repository, alice, { title, body })
    const other = github.openIssue(there.repository, alice, { title: 'A bug' })
    await github.deliveries.idle()
    await github.until(() => copy.state === 'closed')
    for (const issue of [pull, copy, other]) github.comment(issue, bob, '/approve')
    await github.deliveries.idle()
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    expect(copy.comments.map(comment => comment.body).join()).toContain(`#${asked.issue.number}`)
    expect(pull.comments.flatMap(({ reactions }) => reactions)).toEqual([])
  })

  test('a closed issue, reopened by whoever likes, decides again', async () => {
    const there = place()
    const asked = await there.ask()
    const carol = github.users.ensure('carol')
    github.closeIssue(asked.issue, carol)
    await github.until(() => asked.issue.state === 'open')
    github.closeIssue(asked.issue, carol)
    await github.deliveries.idle()
    const late = await asked.say('bob', '/approve')
    await github.until(() => late.reactions.length > 0)
    expect(await asked.outcomes()).toEqual([null])
    expect(await asked.notes()).toEqual(['issue_closed'])
    github.reopenIssue(asked.issue, carol)
    await asked.say('bob', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
  })

  test('case 12: an edited body, restored: void for good, and the new request decides', async () => {
    const there = place()
    const asked = await there.ask()
    const { body } = asked.issue
    const alice = github.users.ensure('alice')
    github.editIssue(asked.issue, { body: `${body}\nand more` }, alice)
    github.editIssue(asked.issue, { body }, alice)
    await github.deliveries.idle()
    await asked.say('bob', '/approve')
    const fresh = await github.until(() =>
      there.repository.issues.find(issue => issue !== asked.issue && issue.body.includes('agentctl:pause=')),
    )
    await github.until(() => asked.issue.state === 'closed')
    expect(await asked.outcomes()).toEqual([null])
    expect(fresh.user.id).toBe(github.app.botId)
    github.comment(fresh, github.users.ensure('bob'), '/approve')
    await github.until(() => fresh.state === 'closed')
    expect(await asked.outcomes()).toEqual(['approved'])
  })
})

describe('what people hear', () => {
  test('at most one reply for a person, one status comment edited in place', async () => {
    const asked = await place().ask({ settings: { minimumApprovals: 2 } })
    for (const body of ['/approve', '/cancel', '/approve']) await asked.say('carol', body)
    await asked.say('bob', '/approve 99')
    await asked.say('bob', '/approve')
    await asked.judged()
    await github.until(() => asked.replies().some(text => text.includes('1 of 2 approvals, by `bob`')))
    await asked.judged()
    expect(asked.replies().filter(text => text.includes('by `carol` does not count'))).toHaveLength(1)
    expect(asked.replies().filter(text => text.includes('by `bob` does not count'))).toHaveLength(1)
    expect(asked.replies()).toHaveLength(3)
  })

  test('people without triage permission: a reaction each, at most 20 on the issue, no reply', async () => {
    const asked = await place().ask()
    const comments = []
    for (let index = 0; index < 24; index++) comments.push(await asked.say(`stranger-${index % 6}`, '/approve'))
    await asked.judged()
    await asked.judged()
    expect(comments.filter(({ reactions }) => reactions.length > 0)).toHaveLength(20)
    expect(asked.replies().filter(text => text.includes('does not count'))).toEqual([])
    await asked.say('bob', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
  })

  test('case 4: every word that the issue tells people to type is accepted, and its links open', async () => {
    const there = place()
    const asked = await there.ask()
    const words = [...asked.issue.body.matchAll(/`((?:\/(?:approve|reject|status|cancel)|lgtm|yes|no|deny)[^`]*)`/g)]
    const typed = [...new Set(words.map(([, word = '']) => word))].filter(word => !/[[\]<>]|ITEM/.test(word))
    expect(typed).toEqual(expect.arrayContaining(['/approve', '/reject']))
    for (const body of typed) {
      const again = await there.ask()
      const comment = await again.say('bob', body)
      await github.until(() => comment.reactions.length > 0)
      expect(await again.notes(), body).toEqual([])
    }
    const links = [...asked.issue.body.matchAll(/\((https?:\/\/[^)\s]+)\)/g)].map(([, link = '']) => link)
    const onGitHub = links.filter(link => link.startsWith(github.serverUrl) && !link.startsWith(plane.url))
    expect(onGitHub.length).toBeGreaterThan(0)
    for (const link of onGitHub) {
      expect(link).not.toMatch(/\/api\/v3|api\.github/)
      expect((await fetch(link)).status, link).toBe(200)
    }
  })

  test('/cancel by whoever may write; closing by them is the same', async () => {
    const there = place()
    const first = await there.ask()
    await first.say('bob', '/cancel wrong branch')
    expect(await first.decided()).toEqual(['cancelled'])
    const second = await there.ask()
    github.closeIssue(second.issue, github.users.ensure('bob'))
    await github.until(() => second.replies().join().includes('cancelled'))
    expect(await second.outcomes()).toEqual(['cancelled'])
    const late = await second.say('alice', '/approve')
    await github.until(() => late.reactions.length > 0)
    expect(await second.outcomes()).toEqual(['cancelled'])
    expect(second.starts()).toBe(0)
  })
})
