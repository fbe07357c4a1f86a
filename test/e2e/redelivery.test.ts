import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signatureOf } from '../control-plane-work/deliveries.ts'
import { type Delivery, type GitHubDouble, type Issue, startGitHub } from '../github/index.ts'
import { type AskingRepository, askingRepository } from '../harness/asking.ts'
import { type ControlPlane, startControlPlane } from '../harness/control-plane.ts'
import { counted, gatedWrite, openStage, type Stage } from './stage.ts'

const created = (github: GitHubDouble, issue: Issue): Delivery => {
  const found = github.deliveries
    .of('issue_comment', 'created')
    .find(({ body }) => JSON.parse(body).issue.id === issue.id)
  if (found === undefined) throw new Error(`no comment on issue #${issue.number} was delivered`)
  return found
}

describe.each(['node', 'worker'] as const)('from pause to resume with the control plane on %s', engine => {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage({ engine })
    const { url } = stage.scene.github.deliveries.hooks[0] ?? { url: '' }
    // Case 17: the repositories have a hook of their own too.
    stage.scene.github.deliveries.addHook({ url, secret: stage.scene.controlPlane.webhookSecret })
  })
  afterAll(() => stage.close())

  test('200 concurrent redeliveries of one approving comment, by two hooks, half under new ids: one of everything', async () => {
    const { github } = stage.scene
    const play = await stage.begin({ spec: gatedWrite })
    const issue = await play.issue()
    github.deliveries.hold()
    play.say(issue, 'bob', '/approve')
    const delivery = created(github, issue)
    const copies = await Promise.all([
      github.deliveries.redeliver(delivery, { count: 100 }),
      github.deliveries.redeliver(delivery, { count: 100, newId: true }),
    ])
    await github.deliveries.release()
    expect(new Set(copies.flat().map(({ status }) => status))).toEqual(new Set([202]))
    await github.until(() => play.handle.run.attempts.length > 1)
    await play.handle.completed()
    expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
    expect(play.file('out/approved.txt')).toBe('approved by a person')
    await github.until(() => issue.state === 'closed')

    // Case 15: once more later, when all is over.
    const [late] = await github.deliveries.redeliver(delivery, { newId: true })
    expect(late).toMatchObject({ status: 202, response: '{"outcome":"duplicate"}' })
    await github.deliveries.idle()
    const counts = counted(await play.events())
    expect(counts).toMatchObject({ 'approval.voted': 1, 'approval.resolved': 1, 'effect.started': 1 })
    expect(play.handle.run.attempts).toHaveLength(2)
    const starts = github.requests.all.filter(({ path }) => /\/(rerun|rerun-failed-jobs|dispatches)$/.test(path))
    expect(starts).toHaveLength(1)
    expect(issue.comments.filter(({ user }) => user.id === github.app.botId)).toHaveLength(1)
    expect(issue.comments[0]?.reactions).toHaveLength(1)
  })

  test('case 16: a delivery that met a dead control plane works when it is sent again', async () => {
    const { github, controlPlane } = stage.scene
    const play = await stage.begin({ spec: gatedWrite })
    const issue = await play.issue()
    await controlPlane.down()
    play.say(issue, 'bob', '/approve')
    await github.deliveries.idle()
    const delivery = created(github, issue)
    expect(delivery.state).toBe('failed')
    await controlPlane.start()
    const [again] = await github.deliveries.redeliver(delivery)
    expect(again).toMatchObject({ status: 202, guid: delivery.guid })
    await github.until(() => play.handle.run.attempts.length > 1)
    await play.handle.completed()
    expect(play.step()).toMatchObject({ exitCode: 0 })
    expect(counted(await play.events())).toMatchObject({ 'approval.resolved': 1, 'effect.started': 1 })
  })

  test('a control plane that dies right after it took the delivery loses nothing and repeats nothing', async () => {
    const { github, controlPlane } = stage.scene
    const play = await stage.begin({ spec: gatedWrite })
    const issue = await play.issue()
    play.say(issue, 'bob', '/approve')
    await github.until(() => created(github, issue).status === 202)
    await controlPlane.restart()
    await github.until(() => play.handle.run.attempts.length > 1, 60_000)
    await play.handle.completed()
    expect(play.step()).toMatchObject({ exitCode: 0 })
    expect(play.handle.run.attempts).toHaveLength(2)
    expect(counted(await play.events())).toMatchObject({ 'approval.voted': 1, 'approval.resolved': 1 })
  })
})

describe('what reaches the webhook', () => {
  let github: GitHubDouble
  let plane: ControlPlane
  let count = 0
  const place = (): AskingRepository => askingRepository(github, plane, { name: `octo/hooks-${++count}` })

  beforeAll(async () => {
    github = await startGitHub()
    plane = await startControlPlane(github, {
      environment: { GITHUB_WEBHOOK_SECRETS: 'whsec-of-the-demo-and-tests,the one before' },
    })
  })
  afterAll(async () => {
    await plane.close()
    await github.close()
  })

  test('while the secret is changed both count, and no third', async () => {
    const [hook] = github.deliveries.hooks
    if (hook === undefined) throw new Error('no hook')
    const asked = await place().ask()
    // The reconciliation that a registration brings would find the comment without a delivery: it comes first.
    const listing = 'GET /repos/{owner}/{repo}/issues/comments'
    const isHere = ({ path }: { path: string }) => path.includes(`/${asked.issue.repository.name}/`)
    await github.until(() => github.requests.of(listing).some(isHere))
    hook.secret = 'a third'
    await asked.say('bob', '/approve')
    await github.deliveries.idle()
    expect(github.deliveries.of('issue_comment').at(-1)).toMatchObject({ state: 'failed', status: 401 })
    hook.secret = 'the one before'
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    await asked.say('bob', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
    hook.secret = plane.webhookSecret
  })

  const comment = Buffer.from(JSON.stringify({ action: 'created' }))
  const right = signatureOf(comment, 'the one before')
  test.each<[string, Buffer, { [header: string]: string }, number, string]>([
    ['no signature', comment, {}, 401, 'missing_signature'],
    ['an empty one', comment, { 'x-hub-signature-256': '' }, 401, 'bad_signature'],
    ['SHA-1 only', comment, { 'x-hub-signature': `sha1=${'a'.repeat(40)}` }, 401, 'sha1_signature'],
    [
      'one made with an empty secret',
      comment,
      { 'x-hub-signature-256': signatureOf(comment, '') },
      401,
      'bad_signature',
    ],
    [
      'one of other bytes',
      Buffer.concat([comment, Buffer.from(' ')]),
      { 'x-hub-signature-256': right },
      401,
      'bad_signature',
    ],
    ['25 MB', Buffer.alloc(25 * 1024 * 1024, 32), { 'x-hub-signature-256': right }, 413, 'too_large'],
    [
      'a byte order mark',
      Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), comment]),
      {
        'x-hub-signature-256': signatureOf(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), comment]), 'the one before'),
      },
      400,
      'byte_order_mark',
    ],
  ])('case 18: %s is refused by name', async (_name, body, headers, status, code) => {
    const answer = await fetch(`${plane.url}/webhooks/github`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-github-event': 'issue_comment',
        'x-github-delivery': crypto.randomUUID(),
        ...headers,
      },
      body: Uint8Array.from(body),
    })
    expect({ status: answer.status, ...(await answer.json()) }).toMatchObject({ status, code })
  })

  test('case 18: digits in upper case may pass', async () => {
    const answer = await fetch(`${plane.url}/webhooks/github`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-github-event': 'star',
        'x-github-delivery': crypto.randomUUID(),
        'x-hub-signature-256': right.toUpperCase().replace('SHA', 'sha'),
      },
      body: comment,
    })
    expect(answer.ok).toBe(true)
  })

  test.each(['', ' ', 'good secret, '])('case 18: GITHUB_WEBHOOK_SECRETS %j: no start', async secrets => {
    const starting = startControlPlane(github, { environment: { GITHUB_WEBHOOK_SECRETS: secrets } })
    await expect(starting).rejects.toThrow(/GITHUB_WEBHOOK_SECRETS/)
  })

  test('a lost comment, made before the issue was registered, is found at the registration; an edited one is not', async () => {
    const lose = () => github.deliveries.lose(({ event }) => event === 'issue_comment')
    const say = (issue: Issue, login: string, body: string) => {
      lose()
      return github.comment(issue, github.users.ensure(login), body)
    }
    const found = await place().ask({ opened: issue => void say(issue, 'bob', '/approve') })
    expect(await found.decided()).toEqual(['approved'])
    const edited = await place().ask({
      opened: issue => {
        const talk = say(issue, 'bob', 'hm')
        lose()
        github.editComment(talk, '/approve', github.users.ensure('alice'))
      },
    })
    await github.until(() => edited.replies().some(text => text.includes('it was edited')))
    expect(await edited.outcomes()).toEqual([null])
  })
})
