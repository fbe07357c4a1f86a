import { afterAll, beforeAll, expect, test } from 'vitest'
import { operations } from '../github/openapi/operations.ts'
import { startReceiver } from './receiver.ts'
import { at, plainWorkflow, type Stage, stage } from './world.ts'

let scene: Stage

/** Runs until it is cancelled. */
const slow = plainWorkflow(
  {
    wait: {
      steps: [{ run: ({ signal }) => new Promise<void>(resolve => signal.addEventListener('abort', () => resolve())) }],
    },
  },
  { name: 'slow', path: '.github/workflows/slow.yml' },
)

beforeAll(async () => {
  scene = await stage(
    {},
    { labels: ['bug'], workflows: [plainWorkflow({ build: { steps: [{ run: () => {} }] } }), slow] },
  )
})
afterAll(() => scene.github.close())

test('every imitated operation is answered as GitHub describes it', async () => {
  const { github, repository } = scene
  const app = scene.appClient().rest
  const bot = (await scene.installation()).rest
  const alice = github.users.ensure('alice')
  const me = scene.as(github.tokens.userToServer(alice)).rest
  github.teams.add({ org: 'acme', slug: 'release', members: ['alice', { user: 'bob', state: 'pending' }] })
  repository.tag('v1')
  repository.commit({ branch: 'topic', files: { 'a.txt': 'a' }, author: alice })
  const pull = repository.pull({ title: 'A', user: alice, head: 'topic' })
  const receiver = await startReceiver('s')
  github.deliveries.addHook({ url: receiver.url, secret: 's' })

  const issue = (
    await bot.issues.create({ ...at, title: 'One', body: 'text', labels: ['bug', 'new'], assignees: ['bob'] })
  ).data
  const issue_number = issue.number
  const comment_id = (await me.issues.createComment({ ...at, issue_number, body: 'hello' })).data.id
  await bot.issues.get({ ...at, issue_number })
  await bot.issues.update({
    ...at,
    issue_number,
    title: 'Two',
    body: 'other',
    state: 'closed',
    state_reason: 'not_planned',
  })
  await bot.issues.listForRepo({
    ...at,
    state: 'all',
    labels: 'bug',
    sort: 'updated',
    direction: 'asc',
    since: '2020-01-01T00:00:00Z',
  })
  await bot.issues.listComments({ ...at, issue_number })
  await bot.issues.listCommentsForRepo({ ...at, since: '2020-01-01T00:00:00Z', sort: 'updated', direction: 'desc' })
  await bot.issues.getComment({ ...at, comment_id })
  await bot.issues.updateComment({ ...at, comment_id, body: 'edited' })
  await bot.reactions.createForIssueComment({ ...at, comment_id, content: 'eyes' })
  await bot.reactions.listForIssueComment({ ...at, comment_id })
  await bot.reactions.createForIssue({ ...at, issue_number, content: 'rocket' })
  await bot.reactions.listForIssue({ ...at, issue_number })
  await bot.issues.addLabels({ ...at, issue_number, labels: ['third'] })
  await bot.issues.listEvents({ ...at, issue_number })
  await bot.issues.listLabelsOnIssue({ ...at, issue_number })
  await bot.issues.addAssignees({ ...at, issue_number, assignees: ['alice', 'nobody'] })
  await bot.issues.createLabel({ ...at, name: 'fourth', color: 'ff0000' })
  await bot.issues.getLabel({ ...at, name: 'bug' })
  await bot.issues.listLabelsForRepo(at)
  await bot.issues.deleteComment({ ...at, comment_id })

  await bot.repos.get(at)
  await bot.repos.getContent({ ...at, path: 'README.md' })
  await bot.repos.getContent({ ...at, path: '.github/workflows', ref: 'main' })
  await bot.repos.getBranch({ ...at, branch: 'main' })
  await bot.git.getRef({ ...at, ref: 'heads/main' })
  await bot.git.getRef({ ...at, ref: 'tags/v1' })
  repository.tag('v2', { annotated: true })
  const tagged = (await bot.git.getRef({ ...at, ref: 'tags/v2' })).data.object
  expect(tagged.type).toBe('tag')
  expect((await bot.git.getTag({ ...at, tag_sha: tagged.sha })).data.object.sha).toBe(repository.head().sha)
  await bot.repos.listTags(at)
  await bot.repos.listCommits(at)
  await bot.repos.getCommit({ ...at, ref: 'topic' })
  await bot.repos.compareCommitsWithBasehead({ ...at, basehead: 'main...topic' })
  const sha = repository.head().sha
  await bot.repos.createCommitStatus({
    ...at,
    sha,
    state: 'pending',
    context: 'agentctl/x',
    target_url: 'https://x.example/',
    description: 'd',
  })
  await bot.repos.listCommitStatusesForRef({ ...at, ref: sha })
  await bot.repos.getCombinedStatusForRef({ ...at, ref: sha })
  await bot.repos.listPullRequestsAssociatedWithCommit({ ...at, commit_sha: pull.pull.head.sha })
  await bot.pulls.get({ ...at, pull_number: pull.number })
  await bot.pulls.listCommits({ ...at, pull_number: pull.number })
  await bot.repos.getCollaboratorPermissionLevel({ ...at, username: 'carol' })
  await bot.teams.getByName({ org: 'acme', team_slug: 'release' })
  await bot.teams.listMembersInOrg({ org: 'acme', team_slug: 'release' })
  await bot.teams.getMembershipForUserInOrg({ org: 'acme', team_slug: 'release', username: 'bob' })

  const run = github.startRun(repository, 'plain.yml', { actor: 'alice', pull })
  await run.completed()
  const run_id = run.id
  await bot.actions.listWorkflowRunsForRepo({
    ...at,
    event: 'pull_request',
    head_sha: pull.pull.head.sha,
    created: '>=2020-01-01T00:00:00Z',
  })
  await bot.actions.getWorkflowRun({ ...at, run_id })
  await bot.actions.getWorkflowRunAttempt({ ...at, run_id, attempt_number: 1 })
  const { jobs } = (await bot.actions.listJobsForWorkflowRunAttempt({ ...at, run_id, attempt_number: 1 })).data
  await bot.actions.listJobsForWorkflowRun({ ...at, run_id, filter: 'all' })
  await bot.actions.getJobForWorkflowRun({ ...at, job_id: jobs[0]?.id ?? 0 })
  await bot.actions.reRunJobForWorkflowRun({ ...at, job_id: jobs[0]?.id ?? 0 })
  await run.completed(2)
  await bot.actions.reRunWorkflow({ ...at, run_id })
  await run.completed(3)
  const waiting = github.startRun(repository, 'slow.yml', { actor: 'alice' })
  await bot.actions.cancelWorkflowRun({ ...at, run_id: waiting.id })
  await waiting.completed(1)
  await bot.actions.reRunWorkflowFailedJobs({ ...at, run_id: waiting.id })
  await bot.actions.forceCancelWorkflowRun({ ...at, run_id: waiting.id })
  await waiting.completed(2)
  await bot.actions.listRepoWorkflows(at)
  await bot.actions.getWorkflow({ ...at, workflow_id: 'plain.yml' })
  await bot.actions.createWorkflowDispatch({ ...at, workflow_id: 'plain.yml', ref: 'main', return_run_details: true })
  await bot.actions.createWorkflowDispatch({ ...at, workflow_id: 'plain.yml', ref: 'v1' })
  await bot.actions.listWorkflowRuns({ ...at, workflow_id: 'plain.yml' })

  await app.apps.getAuthenticated()
  const { data: installation } = await app.apps.getRepoInstallation(at)
  await app.apps.getOrgInstallation({ org: 'acme' })
  await app.apps.listInstallations()
  await app.apps.getInstallation({ installation_id: installation.id })
  const { data: deliveries } = await app.apps.listWebhookDeliveries()
  await app.apps.redeliverWebhookDelivery({ delivery_id: deliveries[0]?.id ?? 0 })

  await me.users.getAuthenticated()
  await me.users.getByUsername({ username: 'alice' })
  await me.users.getById({ account_id: alice.id })
  await me.apps.listInstallationsForAuthenticatedUser()
  await bot.meta.get()
  await bot.rateLimit.get()
  await bot.apps.listReposAccessibleToInstallation()
  await bot.apps.revokeInstallationAccessToken()

  const basic = `Basic ${Buffer.from(`${github.app.clientId}:${github.app.clientSecret}`).toString('base64')}`
  const token = github.tokens.userToServer(alice)
  for (const method of ['POST', 'DELETE']) {
    const answer = await fetch(`${github.apiUrl}/applications/${github.app.clientId}/token`, {
      method,
      headers: { authorization: basic },
      body: JSON.stringify({ access_token: token }),
    })
    expect(answer.ok).toBe(true)
  }
  await github.deliveries.idle()
  await receiver.close()

  const called = new Set(github.requests.all.filter(request => request.status < 300).map(request => request.route))
  expect(operations.filter(operation => !called.has(operation))).toEqual([])
  expect(github.violations).toEqual([])
})
