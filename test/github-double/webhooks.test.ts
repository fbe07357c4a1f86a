import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Receiver, startReceiver } from './receiver.ts'
import { type Stage, stage } from './world.ts'

let scene: Stage
let receiver: Receiver

beforeEach(async () => {
  scene = await stage()
  receiver = await startReceiver('hush')
})
afterEach(async () => {
  await receiver.close()
  await scene.github.close()
})

const arrived = () =>
  receiver.received.map(({ headers, body }) => `${headers['x-github-event']}.${JSON.parse(body).action}`)

test('what people do to issues and comments arrives signed, once, with GitHub’s headers', async () => {
  const { github, repository } = scene
  const alice = github.users.ensure('alice')
  const bob = github.users.ensure('bob')
  const other = github.repositories.add({ name: 'acme/other' })
  github.deliveries.addHook({ url: receiver.url, secret: 'hush' })
  const issue = github.openIssue(repository, alice, { title: 'T', body: 'B' })
  const comment = github.comment(issue, bob, '/approve')
  github.editComment(comment, '/reject', alice)
  github.deleteComment(comment, alice)
  github.editIssue(issue, { body: 'B2' }, alice)
  github.closeIssue(issue, alice)
  github.reopenIssue(issue, alice)
  const moved = github.transferIssue(issue, other, alice)
  github.deleteIssue(moved, alice)
  repository.rename('store', alice)
  await github.deliveries.idle()
  expect(arrived().sort()).toEqual(
    [
      'issues.opened',
      'issue_comment.created',
      'issue_comment.edited',
      'issue_comment.deleted',
      'issues.edited',
      'issues.closed',
      'issues.reopened',
      'issues.transferred',
      'issues.deleted',
      'repository.renamed',
    ].sort(),
  )
  expect(receiver.received.every(({ signed }) => signed)).toBe(true)
  const edited = receiver.received.find(({ body }) => JSON.parse(body).action === 'edited' && JSON.parse(body).comment)
  const payload = JSON.parse(edited?.body ?? '{}')
  expect(payload).toMatchObject({
    comment: { user: { login: 'bob' } },
    sender: { login: 'alice' },
    changes: { body: { from: '/approve' } },
  })
  expect(payload.installation.id).toBe(github.installations.all[0]?.id)
  expect(edited?.headers).toMatchObject({
    'x-github-hook-installation-target-type': 'integration',
    'content-type': 'application/json',
  })
})

test('a failed delivery is repeated only when told to, under its own id or a new one, as often as wanted', async () => {
  const { github, repository } = scene
  github.deliveries.addHook({ url: receiver.url, secret: 'hush', events: ['issue_comment'] })
  receiver.answers.push(503)
  const issue = github.openIssue(repository, github.users.ensure('alice'), { title: 'T' })
  github.comment(issue, github.users.ensure('bob'), '/approve')
  await github.deliveries.idle()
  const [first] = github.deliveries.of('issue_comment')
  if (!first) throw new Error('no delivery')
  expect([first.state, first.status]).toEqual(['failed', 503])
  await github.deliveries.redeliver(first, { count: 5 })
  await github.deliveries.redeliver(first, { newId: true })
  const ids = receiver.received.map(({ headers }) => headers['x-github-delivery'])
  expect(ids).toHaveLength(7)
  expect(new Set(ids).size).toBe(2)
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
})

test('deliveries can be lost, held and let go in the other order', async () => {
  const { github, repository } = scene
  github.deliveries.addHook({ url: receiver.url, secret: 'hush', events: ['issue_comment'] })
  const issue = github.openIssue(repository, github.users.ensure('alice'), { title: 'T' })
  github.deliveries.lose(delivery => delivery.body.includes('lost'))
  github.deliveries.hold()
  for (const text of ['one', 'lost', 'two']) github.comment(issue, github.users.ensure('bob'), text)
  expect(receiver.received).toEqual([])
  await github.deliveries.release('backwards')
  expect(receiver.received.map(({ body }) => JSON.parse(body).comment.body)).toEqual(['two', 'one'])
  expect(github.deliveries.all.map(({ state }) => state)).toEqual(['delivered', 'lost', 'delivered'])
})

test('a repository’s own hook and the App’s both hear; a repository without the App is heard by the first only', async () => {
  const { github, repository } = scene
  const bare = github.repositories.add({ name: 'acme/bare', installed: false })
  const alice = github.users.ensure('alice')
  for (const target of ['app', { repository: repository.id }, { repository: bare.id }] as const) {
    github.deliveries.addHook({ url: receiver.url, secret: 'hush', target })
  }
  github.openIssue(repository, alice, { title: 'T' })
  github.openIssue(bare, alice, { title: 'T' })
  await github.deliveries.idle()
  const targets = receiver.received.map(({ headers }) => headers['x-github-hook-installation-target-type'])
  expect(targets.sort()).toEqual(['integration', 'repository', 'repository'])
})

test('a run is announced as requested, in progress and completed, for every attempt', async () => {
  const { github, repository } = scene
  github.deliveries.addHook({ url: receiver.url, secret: 'hush' })
  const run = github.startRun(repository, 'plain.yml', { actor: 'alice' })
  await run.completed()
  const bot = await scene.installation()
  await bot.rest.actions.reRunWorkflow({ owner: 'acme', repo: 'shop', run_id: run.id })
  await run.completed(2)
  await github.deliveries.idle()
  const events = receiver.received
    .map(({ body }) => JSON.parse(body))
    .map(p => `${p.action} ${p.workflow_run.run_attempt} ${p.sender.login}`)
  expect(events.sort()).toEqual(
    [1, 2]
      .flatMap(n =>
        ['completed', 'in_progress', 'requested'].map(a => `${a} ${n} ${n === 1 ? 'alice' : 'agentctl-double[bot]'}`),
      )
      .sort(),
  )
})

test('installing, suspending and uninstalling the App are announced', async () => {
  const { github } = scene
  github.deliveries.addHook({ url: receiver.url, secret: 'hush' })
  const second = github.repositories.add({ name: 'acme/second', installed: false })
  const installation = github.installations.add(second)
  github.installations.remove(second)
  github.installations.suspend(installation, true)
  github.installations.suspend(installation, false)
  github.installations.delete(installation)
  github.repositories.add({ name: 'fresh/one' })
  await github.deliveries.idle()
  expect(arrived().sort()).toEqual(
    [
      'installation_repositories.added',
      'installation_repositories.removed',
      'installation.suspend',
      'installation.unsuspend',
      'installation.deleted',
      'installation.created',
    ].sort(),
  )
})
