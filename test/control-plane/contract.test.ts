import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../control-plane/app.ts'
import { signLease } from '../../control-plane/auth/lease-token.ts'
import { verifyAudit } from '../../ledger/index.ts'
import { approvalId } from '../../policy/binding.ts'
import { sha256 } from '../../policy/canonical.ts'
import { type GitHubDouble, type Repository, startGitHub } from '../github/index.ts'
import { type ControlPlane, startControlPlane } from '../harness/control-plane.ts'
import { Client } from './client.ts'
import { create, effectOf, finishEffect, finishRun, id, move, pauseRun, request, startEffect } from './commands.ts'
import { Desk, type OpenJob, workflowPath } from './jobs.ts'
import { configWith } from './settings.ts'

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
const actionsBot = 41_898_282

describe.each(['node', 'worker'] as const)('the control plane on %s', engine => {
  let github: GitHubDouble
  let plane: ControlPlane
  let repository: Repository
  let client: Client
  let desk: Desk
  const people: { [login: string]: string } = {}
  const base = '/v1/repos/octo/app'

  beforeAll(async () => {
    github = await startGitHub()
    for (const login of ['alice', 'bob', 'carol', 'dave', 'mallory']) {
      people[login] = github.tokens.userToServer(github.users.ensure(login))
    }
    plane = await startControlPlane(github, { engine })
    client = new Client(plane.url)
    desk = new Desk((run, attempt, key) => {
      const jobs = github.runs.all.find(one => one.id === run)?.attempts.find(({ number }) => number === attempt)?.jobs
      const job = jobs?.find(one => one.key === key)
      if (job === undefined) throw new Error(`no job ${key} in run ${run}`)
      return job
    })
    repository = github.repositories.add({
      name: 'octo/app',
      private: true,
      collaborators: { alice: 'maintain', bob: 'write', carol: 'triage', dave: 'read' },
      workflows: [desk.workflow()],
      files: { 'README.md': '# app\n' },
    })
  })

  afterAll(async () => {
    await plane.close()
    await github.close()
  })

  const token = (login: string): string => people[login] ?? ''

  async function begin(actor = 'alice'): Promise<OpenJob> {
    github.startRun(repository, workflowPath, { event: 'push', actor })
    return desk.next()
  }

  const send = (at: { run: string; epoch: number; token: string }, ...commands: object[]) =>
    client.post(`${base}/runs/${at.run}/commands`, at.token, { epoch: at.epoch, commands })

  /** A run that has paused for its one write, its issue registered. */
  async function paused(resumeWith: 'rerun' | 'workflow_dispatch' = 'rerun') {
    const job = await begin()
    const at = await client.attach(job)
    const pause = id()
    expect(
      await send(at, create({ resumeWith }), move('running'), request(at.run, 'ask'), move('waiting')),
    ).toMatchObject({
      status: 200,
    })
    expect(await send(at, pauseRun(at.run, pause, inAnHour()))).toMatchObject({ status: 200 })
    const issue = (await client.get(`${base}/runs/${at.run}/pause`, at.token)).body as {
      title: string
      body: string
      labels: string[]
    }
    const bot = github.users.byId(actionsBot)
    if (bot === null) throw new Error('no github-actions[bot]')
    const opened = github.openIssue(repository, bot, issue)
    const registration = await client.post(`${base}/runs/${at.run}/registration`, at.token, {
      pause,
      issue: opened.number,
    })
    expect(registration).toMatchObject({ status: 200, body: { number: opened.number, superseded: false } })
    return { job, at, pause, issue: opened, approval: approvalId(effectOf(at.run), pause) }
  }

  const bodyDigestOf = async (approval: string) =>
    ((await client.get(`${base}/approvals/${approval}`, token('bob'))).body as { bodyDigest: string }).bodyDigest

  it('drives a run from attach over pause and resolution to a resumed end with a verified chain', async () => {
    const { job, at, approval } = await paused()
    job.end('failure')
    const mine = await client.get('/v1/approvals', token('bob'))
    expect(mine.body).toMatchObject({
      items: [{ id: approval, resolution: null, repository: { owner: 'octo', name: 'app' } }],
      next: null,
    })

    const bodyDigest = await bodyDigestOf(approval)
    const resolution = `${base}/approvals/${approval}/resolution`
    const resolved = await client.post(resolution, token('bob'), { outcome: 'approved', reason: 'fine', bodyDigest })
    expect(resolved).toMatchObject({
      status: 200,
      body: { resolution: { outcome: 'approved', by: [{ login: 'bob' }], via: 'api' } },
    })
    expect(
      await client.post(resolution, token('alice'), { outcome: 'rejected', reason: '', bodyDigest }),
    ).toMatchObject({ status: 409 })

    const again = await desk.next()
    expect(again.job.attempt).toBe(2)
    const resumed = await client.attach(again)
    expect(resumed).toMatchObject({ outcome: 'resume', run: at.run, epoch: 2 })
    const snapshot = await client.get(`${base}/runs/${at.run}/snapshot`, resumed.token)
    expect(snapshot.body).toMatchObject({ record: { state: 'running' }, effects: [{ state: 'requested', approval }] })
    const stale = await send(at, startEffect(at.run))
    expect(stale).toMatchObject({ status: 409, body: { code: 'stale_epoch' } })
    const done = await send(
      resumed,
      startEffect(at.run),
      finishEffect(at.run, 'succeeded'),
      move('succeeded'),
      finishRun('succeeded'),
    )
    expect(done).toMatchObject({ status: 200, body: { epoch: 2, cancelRequested: false } })
    again.end('success')

    const exported = await client.get(`${base}/audit/export?run=${at.run}`, token('dave'))
    expect(exported.headers.get('content-type')).toBe('application/x-ndjson')
    const head = await client.get(`${base}/audit/head?run=${at.run}`, token('dave'))
    expect(head.body).toMatchObject({ ledger: String(repository.id), chain: `run/${at.run}`, signature: null })
    const lines = String(exported.body)
      .split('\n')
      .filter(line => line !== '')
    const expected = (head.body as { head: string }).head
    expect(await verifyAudit(lines, expected)).toMatchObject({ ok: true })
    const everything = await client.get(`${base}/audit/export`, token('dave'))
    expect(
      await verifyAudit(
        String(everything.body)
          .split('\n')
          .filter(line => line !== ''),
      ),
    ).toMatchObject({ ok: true })

    const live = await client.send('GET', `${base}/runs/${at.run}/events`, {
      token: token('dave'),
      headers: { accept: 'text/event-stream', 'last-event-id': '2' },
    })
    const ids = [...String(live.body).matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq))
    expect(ids[0]).toBe(3)
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
    expect(String(live.body)).toContain('event: run.created'.replace('run.created', 'effect.approved'))
  })

  it('lets the workflow run that it dispatched take the run, and none that somebody else started', async () => {
    const { job, at, approval } = await paused('workflow_dispatch')
    job.end('failure')
    const word = { outcome: 'approved', reason: '', bodyDigest: await bodyDigestOf(approval) }
    expect(await client.post(`${base}/approvals/${approval}/resolution`, token('bob'), word)).toMatchObject({
      status: 200,
    })
    const dispatched = await desk.next()
    expect(dispatched.context.environment['GITHUB_EVENT_NAME']).toBe('workflow_dispatch')
    github.startRun(repository, workflowPath, {
      event: 'workflow_dispatch',
      actor: 'bob',
      inputs: { 'agentctl-run': at.run },
    })
    const byHand = await desk.next()
    expect(await client.tryAttach(byHand, { agentctlRun: at.run })).toMatchObject({
      status: 403,
      body: { code: 'not_our_dispatch' },
    })
    byHand.end('failure')
    expect(await client.attach(dispatched, { agentctlRun: at.run })).toMatchObject({
      outcome: 'resume',
      run: at.run,
      epoch: 2,
    })
    dispatched.end('failure')
  })

  it('tells jobs apart without job ids too, as on GHES', async () => {
    const job = await begin()
    const siblings = ['0', '1'].map(digit => ({ jobId: null, matrixDigest: digit.repeat(64) }))
    const first = await client.attach(job, siblings[0])
    const second = await client.attach(job, siblings[1])
    expect(first.run).not.toBe(second.run)
    expect((await client.attach(job, siblings[0])).run).toBe(first.run)
    job.end('failure')
  })

  it('gives lists in pages with a Link', async () => {
    const path = `${base}/runs?limit=1`
    const job = await begin()
    const at = await client.attach(job)
    await send(at, create())
    job.end('failure')
    const first = await client.get(path, token('dave'))
    const { items, next } = first.body as { items: { run: string }[]; next: string }
    expect(items).toHaveLength(1)
    expect(first.headers.get('link')).toBe(
      `<${plane.url}${base}/runs?limit=1&cursor=${encodeURIComponent(next)}>; rel="next"`,
    )
    const second = await client.get(`${path}&cursor=${encodeURIComponent(next)}`, token('dave'))
    expect((second.body as { items: { run: string }[] }).items[0]?.run).not.toBe(items[0]?.run)
    const events = await client.get(`${base}/runs/${at.run}/events?limit=1`, token('dave'))
    expect(events.body).toMatchObject({ items: [{ seq: 1, type: 'run.created' }] })
    expect(await client.get(`${base}/runs?state=running&workflow=release&actor=alice`, token('dave'))).toMatchObject({
      status: 200,
      body: { items: expect.arrayContaining([expect.objectContaining({ run: at.run })]) },
    })
    for (const bad of ['limit=0', 'limit=101', 'state=unknown', 'since=yesterday', 'other=1']) {
      expect(await client.get(`${base}/runs?${bad}`, token('dave'))).toMatchObject({
        status: 422,
        body: { code: 'invalid' },
      })
    }
  })

  it('cancels by whoever may write, and nobody else', async () => {
    const { job, at } = await paused()
    job.end('failure')
    const path = `${base}/runs/${at.run}/cancel`
    expect(await client.post(path, token('dave'), { reason: 'no' })).toMatchObject({ status: 403 })
    expect(await client.post(path, token('carol'), { reason: 'no' })).toMatchObject({ status: 403 })
    expect(await client.post(path, token('mallory'), { reason: 'no' })).toMatchObject({ status: 404 })
    expect(await client.post(path, token('bob'), { reason: 'no' })).toMatchObject({
      status: 200,
      body: { state: 'cancelled' },
    })
    expect(await client.post(path, token('bob'), { reason: 'no' })).toMatchObject({ status: 409 })
  })

  it('takes a reconciliation from whoever may write', async () => {
    const job = await begin()
    const at = await client.attach(job)
    await send(at, create(), move('running'), request(at.run, 'allow'), startEffect(at.run))
    await send(at, finishEffect(at.run, 'uncertain'), move('uncertain'), finishRun('uncertain'))
    job.end('failure')
    const path = `${base}/effects/${effectOf(at.run)}/reconciliation`
    const word = { status: 'not-applied', reason: 'looked', evidence: { file: null } }
    expect(await client.post(path, token('dave'), word)).toMatchObject({ status: 403 })
    expect(await client.post(path, at.token, word)).toMatchObject({ status: 401 })
    expect(await client.post(path, token('bob'), word)).toMatchObject({
      status: 200,
      body: { reconciliations: [{ status: 'not-applied', actor: `github:${github.users.ensure('bob').id}` }] },
    })
  })

  it('holds the result of a reconciliation to the schemas of the task, and records no value under a secret name', async () => {
    const job = await begin()
    const at = await client.attach(job)
    const outputSchema = { type: 'object', required: ['changed'], properties: { changed: { type: 'boolean' } } }
    const plan = { inline: { formatVersion: 1, tasks: { write: { action: {}, outputSchema } } } }
    await send(at, { ...create(), plan }, move('running'), request(at.run, 'allow'), startEffect(at.run))
    await send(at, finishEffect(at.run, 'uncertain'), move('uncertain'), finishRun('uncertain'))
    job.end('failure')
    const path = `${base}/effects/${effectOf(at.run)}/reconciliation`
    const applied = { status: 'applied', reason: 'looked', evidence: null }
    const wrong = [
      applied,
      { ...applied, result: { changed: 'yes' } },
      { ...applied, status: 'not-applied', result: { changed: true } },
    ]
    for (const body of wrong)
      expect(await client.post(path, token('bob'), body)).toMatchObject({
        status: 422,
        body: { code: 'invalid_result' },
      })
    expect(await client.get(`${base}/runs/${at.run}`, token('bob'))).toMatchObject({ body: { state: 'uncertain' } })
    const right = { ...applied, result: { changed: true, password: 'hunter2hunter2' } }
    const { status, body } = await client.post(path, token('bob'), right)
    expect(status).toBe(200)
    expect(body).toMatchObject({ state: 'succeeded', result: { changed: true } })
    expect(JSON.stringify(body)).not.toContain('hunter2')
  })

  it('keeps blobs by digest, in parts, for the holder of the lease', async () => {
    const job = await begin()
    const at = await client.attach(job)
    const bytes = new Uint8Array(524_288 + 10).fill(7)
    const digest = sha256(bytes)
    const path = `${base}/blobs/${digest}`
    const put = (part: number, chunk: Uint8Array<ArrayBuffer>, total = bytes.length, token = at.token) =>
      client.send('PUT', `${path}/${part}?bytes=${total}`, { token, bytes: chunk })
    // Before the run is there: a large plan comes first.
    expect(await put(0, bytes.slice(0, 524_288))).toMatchObject({ status: 204 })
    await send(at, create())
    expect(await client.get(`${path}/0`, at.token)).toMatchObject({ status: 404 })
    expect(await put(1, bytes.slice(524_288))).toMatchObject({ status: 204 })
    expect(await put(1, bytes.slice(524_288))).toMatchObject({ status: 204 })
    const read = await fetch(`${plane.url}${path}/1`, { headers: { authorization: `Bearer ${at.token}` } })
    expect(new Uint8Array(await read.arrayBuffer())).toEqual(bytes.slice(524_288))
    expect(await put(0, new Uint8Array(524_289))).toMatchObject({ status: 413 })
    expect(await client.get(`${base}/blobs/${'f'.repeat(64)}/0`, at.token)).toMatchObject({ status: 404 })
    expect(await client.get(`${base}/blobs/xyz/0`, at.token)).toMatchObject({ status: 422 })
    expect(await client.get(`${path}/1`, token('dave'))).toMatchObject({ status: 200 })
    expect(await client.get(`${path}/1`, token('mallory'))).toMatchObject({ status: 404 })
    expect(await put(0, bytes.slice(0, 9), 9, token('bob'))).toMatchObject({ status: 403 })
    await send(at, move('running'), request(at.run, 'ask'), move('waiting'), pauseRun(at.run, id(), inAnHour()))
    expect(await put(1, bytes.slice(524_288))).toMatchObject({ status: 409, body: { code: 'stale_epoch' } })
    job.end('failure')
  })

  it('lets a job in only with a fresh token of ours, once, for a job of its own', async () => {
    const job = await begin()
    const used = await job.oidc(client.url)
    expect(await client.tryAttach(job, {}, used)).toMatchObject({ status: 200 })
    expect(await client.tryAttach(job, {}, used)).toMatchObject({ status: 401, body: { code: 'token_replayed' } })
    const foreign = await job.oidc('https://other.example.dev')
    expect(await client.tryAttach(job, {}, foreign)).toMatchObject({ status: 401, body: { code: 'token_refused' } })
    expect(await client.tryAttach(job, { jobId: 1 })).toMatchObject({ status: 403, body: { code: 'job_mismatch' } })
    expect(await client.tryAttach(job, { document: '../x.yaml' })).toMatchObject({ status: 422 })
    expect(await client.tryAttach(job, { extra: 1 })).toMatchObject({ status: 422 })
    expect(await client.tryAttach(job, { agentctlRun: id() })).toMatchObject({
      status: 403,
      body: { code: 'not_our_dispatch' },
    })
    const nobody = { users: [], teams: [], expiresAfterSeconds: 5 }
    expect(await client.tryAttach(job, { settings: nobody })).toMatchObject({
      status: 422,
      body: { code: 'settings_refused' },
    })
    for (const wrong of [token('bob'), 'ghs_0123456789abcdef0123', 'x']) {
      expect(await client.tryAttach(job, {}, wrong)).toMatchObject({ status: 401 })
    }
    expect(await client.send('POST', '/v1/attach', { json: job.request })).toMatchObject({ status: 401 })
    job.end('failure')
  })

  it('does not know a repository without its App', async () => {
    const other = github.repositories.add({ name: 'stray/app', installed: false, workflows: [desk.workflow()] })
    github.startRun(other, workflowPath, { event: 'push' })
    const job = await desk.next()
    expect(await client.tryAttach(job)).toMatchObject({ status: 403, body: { code: 'app_not_installed' } })
    job.end('failure')
    expect(await client.get('/v1/repos/stray/app/runs', token('alice'))).toMatchObject({ status: 404 })
  })

  it('says GitHub is away, never no, and takes the job in afterwards', async () => {
    const job = await begin()
    const route = 'GET /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs'
    github.faults.add({ route, status: 502, times: 20 })
    expect(await client.tryAttach(job)).toMatchObject({ status: 503, body: { code: 'github_unavailable' } })
    github.faults.clear()
    expect(await client.tryAttach(job)).toMatchObject({ status: 200 })
    job.end('failure')
  })

  it('binds a lease token to its run, epoch, repository and time', async () => {
    const job = await begin()
    const at = await client.attach(job)
    await send(at, create())
    const other = await begin()
    const theirs = await client.attach(other)
    await send(theirs, create())
    const elsewhere = (path: string) => client.get(path, at.token)
    expect(await elsewhere(`${base}/runs/${theirs.run}/snapshot`)).toMatchObject({ status: 404 })
    expect(await elsewhere(`${base}/runs/${theirs.run}/memory?namespace=n&key=k`)).toMatchObject({ status: 404 })
    expect(await elsewhere(`${base}/runs/${id()}/snapshot`)).toMatchObject({ status: 404 })
    expect(await elsewhere(`/v1/repos/octo/other/runs/${at.run}/snapshot`)).toMatchObject({ status: 404 })
    expect(await send({ ...at, epoch: at.epoch + 1 }, move('running'))).toMatchObject({
      status: 409,
      body: { code: 'stale_epoch' },
    })
    expect(await send({ ...at, run: theirs.run }, move('running'))).toMatchObject({ status: 404 })

    const config = configWith({ AGENTCTL_PUBLIC_URL: plane.url })
    const bound = {
      repositoryId: repository.id,
      repository: 'octo/app',
      run: at.run,
      epoch: at.epoch,
      instance: '',
      actor: 'job:1/1',
    }
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000)
    const old = (await signLease(config, bound, minutesAgo(61))).token
    expect(await send({ ...at, token: old }, move('running'))).toMatchObject({ status: 401 })
    const ageing = (await signLease(config, bound, minutesAgo(21))).token
    const renewed = await send({ ...at, token: ageing }, move('running'))
    expect(renewed).toMatchObject({ status: 200, body: { token: expect.stringMatching(/^ey/) } })
    const { token: next } = renewed.body as { token: string }
    const renewal = await send({ ...at, token: next }, { id: id(), type: 'lease.renew' })
    expect(renewal.body).not.toHaveProperty('token')
    job.end('failure')
    other.end('failure')
  })

  it('lets a lease token neither resolve, cancel nor read as a person', async () => {
    const { job, at, approval } = await paused()
    const bodyDigest = await bodyDigestOf(approval)
    const word = { outcome: 'approved', reason: '', bodyDigest }
    expect(await client.post(`${base}/approvals/${approval}/resolution`, at.token, word)).toMatchObject({ status: 401 })
    expect(await client.post(`${base}/runs/${at.run}/cancel`, at.token, { reason: '' })).toMatchObject({ status: 401 })
    for (const path of [
      `${base}/runs`,
      `${base}/runs/${at.run}`,
      `${base}/audit/export`,
      `${base}/floor`,
      '/v1/approvals',
    ]) {
      expect(await client.get(path, at.token)).toMatchObject({ status: 401 })
    }
    job.end('failure')
  })

  it('refuses a control command in a batch, an applied batch in part, and a batch that is none', async () => {
    const job = await begin()
    const at = await client.attach(job)
    const first = create()
    const batch = { epoch: at.epoch, commands: [first] }
    const path = `${base}/runs/${at.run}/commands`
    const once = await client.post(path, at.token, batch)
    expect(await client.post(path, at.token, batch)).toMatchObject({ status: 200, body: once.body as object })
    expect(await client.post(path, at.token, { epoch: 1, commands: [first, move('running')] })).toMatchObject({
      status: 422,
    })
    const vote = { id: id(), type: 'run.cancel', person: { id: 1, login: 'x' }, reason: '', via: 'api' }
    expect(await client.post(path, at.token, { epoch: 1, commands: [vote] })).toMatchObject({ status: 422 })
    expect(await client.post(path, at.token, { epoch: 1, commands: [] })).toMatchObject({ status: 422 })
    const text = { token: at.token, bytes: new TextEncoder().encode('{') }
    expect(await client.send('POST', path, { ...text, headers: { 'content-type': 'application/json' } })).toMatchObject(
      { status: 400 },
    )
    expect(await client.send('POST', path, { ...text, headers: { 'content-type': 'text/plain' } })).toMatchObject({
      status: 415,
    })
    const large = { epoch: 1, commands: [{ ...create(), memory: { text: 'x'.repeat(270_000) } }] }
    expect(await client.post(path, at.token, large)).toMatchObject({ status: 413, body: { code: 'too_large' } })
    job.end('failure')
  })

  it('refuses a resolution by whoever is not eligible, on another body, or of nothing', async () => {
    const { job, approval } = await paused()
    job.end('failure')
    const path = `${base}/approvals/${approval}/resolution`
    const bodyDigest = await bodyDigestOf(approval)
    const word = { outcome: 'approved', reason: '', bodyDigest }
    expect(await client.post(path, token('dave'), word)).toMatchObject({ status: 403 })
    expect(await client.post(path, token('carol'), word)).toMatchObject({ status: 403 })
    expect(await client.post(path, token('mallory'), word)).toMatchObject({ status: 404 })
    expect(await client.post(path, token('bob'), { ...word, bodyDigest: '0'.repeat(64) })).toMatchObject({
      status: 409,
    })
    expect(await client.post(path, token('bob'), { outcome: 'approved', reason: '' })).toMatchObject({ status: 422 })
    expect(await client.post(path, token('bob'), { ...word, outcome: 'expired' })).toMatchObject({ status: 422 })
    const unknown = `${base}/approvals/${'0'.repeat(64)}/resolution`
    expect(await client.post(unknown, token('bob'), word)).toMatchObject({ status: 404 })
  })

  it('signs in people by user tokens only, and tells strangers nothing', async () => {
    const path = `${base}/runs`
    const bot = github.tokens.issue('ghs_', { kind: 'user', user: github.users.ensure('alice'), app: null }, 600)
    const personal = github.tokens.pat(github.users.ensure('alice'))
    expect(await client.get(path)).toMatchObject({ status: 401 })
    expect(await client.get(path, 'ghu_0000000000000000000000000000000000000')).toMatchObject({ status: 401 })
    expect(await client.get(path, bot)).toMatchObject({ status: 403, body: { code: 'not_a_person' } })
    expect(await client.get(path, personal)).toMatchObject({ status: 403, body: { code: 'personal_token' } })
    const hidden = await client.get(path, token('mallory'))
    const absent = await client.get('/v1/repos/octo/none/runs', token('mallory'))
    expect(hidden).toMatchObject({ status: 404 })
    expect(hidden.body).toEqual(absent.body)
    expect(await client.get(`${path}/${id()}`, token('dave'))).toMatchObject({ status: 404 })
    expect(await client.get(`${base}/approvals/nothing`, token('dave'))).toMatchObject({ status: 404 })
    expect((await client.get('/v1/approvals', token('mallory'))).body).toEqual({ items: [], next: null })
  })

  it('never takes a failure of GitHub for a yes', async () => {
    const fresh = github.tokens.userToServer(github.users.ensure('erin'))
    github.faults.add({
      route: 'GET /repos/{owner}/{repo}/collaborators/{username}/permission',
      status: 500,
      times: 20,
    })
    expect(await client.get(`${base}/runs`, fresh)).toMatchObject({ status: 503 })
    github.faults.clear()
    github.faults.add({ route: 'POST /applications/{client_id}/token', status: 500, times: 20 })
    const other = github.tokens.userToServer(github.users.ensure('alice'))
    expect(await client.get(`${base}/runs`, other)).toMatchObject({ status: 503 })
    github.faults.clear()
    expect(await client.get(`${base}/runs`, other)).toMatchObject({ status: 200 })
  })

  it('reads the floor of the default branch, and refuses a job beyond it', async () => {
    const floor = (spec: string) =>
      `apiVersion: agentctl.dev/v1\nkind: SecurityFloor\nmetadata: { name: floor }\nspec: ${spec}\n`
    const commit = (spec: string) =>
      repository.commit({ files: { '.github/agentctl/floor.yaml': floor(spec) }, author: github.users.ensure('alice') })
    commit('{ minimumApprovals: 2, approvers: { users: [bob] } }')
    expect((await client.get(`${base}/floor`, token('dave'))).body).toMatchObject({
      floor: { minimumApprovals: 2 },
      floorDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
      sources: [expect.stringContaining('octo/app:.github/agentctl/floor.yaml')],
    })
    const job = await begin()
    expect(await client.tryAttach(job, { settings: { users: ['carol'] } })).toMatchObject({
      status: 422,
      body: { code: 'settings_refused' },
    })
    const at = await client.attach(job)
    expect(at.settings).toMatchObject({ minimumApprovals: 2, preventSelfApproval: true, users: [{ login: 'bob' }] })
    commit('{ allowedWorkflowRefs: ["octo/app/.github/workflows/other.yml@*"] }')
    expect(await client.tryAttach(job)).toMatchObject({ status: 403, body: { code: 'workflow_ref_not_allowed' } })
    commit('{ minimumApprovals: none }')
    expect(await client.tryAttach(job)).toMatchObject({ status: 422, body: { code: 'floor_invalid' } })
    commit('{}')
    job.end('failure')
  })

  it('keeps its history through a rename, and gives none of it to a new repository of the old name', async () => {
    const named = github.repositories.add({
      name: 'octo/before',
      collaborators: { alice: 'maintain' },
      private: true,
      workflows: [desk.workflow()],
    })
    github.startRun(named, workflowPath, { event: 'push' })
    const job = await desk.next()
    const at = await client.attach(job)
    const path = '/v1/repos/octo/before'
    await client.post(`${path}/runs/${at.run}/commands`, at.token, { epoch: 1, commands: [create()] })
    job.end('failure')
    named.rename('after', github.users.ensure('alice'))
    await github.until(() =>
      github.deliveries.all.find(({ event, state }) => event === 'repository' && state === 'delivered'),
    )
    expect(await client.get(`/v1/repos/octo/after/runs/${at.run}`, token('alice'))).toMatchObject({ status: 200 })

    const heir = github.repositories.add({
      name: 'octo/before',
      collaborators: { dave: 'admin' },
      private: true,
      workflows: [desk.workflow()],
    })
    expect(await client.get(`${path}/runs/${at.run}`, token('dave'))).toMatchObject({ status: 404 })
    github.startRun(heir, workflowPath, { event: 'push' })
    const theirs = await desk.next()
    await client.attach(theirs)
    theirs.end('failure')
    expect(await client.get(`${path}/runs/${at.run}`, token('dave'))).toMatchObject({ status: 404 })
  })

  it('shows what it gave up on, and tries again when told to', async () => {
    const { job, approval } = await paused()
    github.faults.add({ route: 'POST /repos/{owner}/{repo}/actions/jobs/{job_id}/rerun', status: 422, times: 20 })
    github.faults.add({
      route: 'POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs',
      status: 422,
      times: 20,
    })
    const word = { outcome: 'approved', reason: '', bodyDigest: await bodyDigestOf(approval) }
    await client.post(`${base}/approvals/${approval}/resolution`, token('bob'), word)
    const all = (await client.get(`${base}/outbox?state=due`, token('dave'))).body as {
      items: { id: string; kind: string }[]
    }
    const row = all.items.find(({ kind }) => kind === 'redispatch')
    const path = `${base}/outbox/${encodeURIComponent(row?.id ?? '')}/retry`
    expect(await client.post(path, token('dave'), {})).toMatchObject({ status: 403 })
    expect(await client.post(path, token('bob'), {})).toMatchObject({ status: 409 })
    expect(await client.post(`${base}/outbox/none/retry`, token('bob'), {})).toMatchObject({ status: 404 })
    expect(await client.get(`${base}/outbox`, token('mallory'))).toMatchObject({ status: 404 })
    job.end('failure')
    github.faults.clear()
  })

  it('does what fell due while it was down soon after it is up again', async () => {
    const job = await begin()
    const at = await client.attach(job)
    const expiresAt = new Date(Date.now() + 1500)
    await send(at, create(), move('running'), request(at.run, 'ask'), move('waiting'))
    await send(at, pauseRun(at.run, id(), expiresAt.toISOString()))
    job.end('failure')
    await plane.down()
    const { promise: expired, resolve } = Promise.withResolvers<void>()
    setTimeout(resolve, Math.max(0, expiresAt.getTime() - Date.now()))
    await expired
    await plane.start()
    // The stream ends with the run.
    const headers = { accept: 'text/event-stream' }
    const live = await client.send('GET', `${base}/runs/${at.run}/events`, { token: token('dave'), headers })
    expect(String(live.body)).toContain('event: run.')
    expect((await client.get(`${base}/runs/${at.run}`, token('dave'))).body).toMatchObject({ state: 'denied' })
    expect((await client.get(`${base}/runs/${at.run}/approvals`, token('dave'))).body).toMatchObject({
      items: [{ task: 'write', run: at.run, resolution: { outcome: 'expired' } }],
      next: null,
    })
  })

  it('describes itself, with headers that keep browsers out', async () => {
    const { body, headers } = await client.get('/v1/openapi.json')
    const { openapi, paths } = body as { openapi: string; paths: { [path: string]: { [method: string]: unknown } } }
    expect(openapi).toBe('3.1.0')
    const described = Object.entries(paths).flatMap(([path, entry]) =>
      Object.keys(entry).map(method => `${method} ${path}`),
    )
    expect(described.sort()).toEqual(operations.map(({ method, path }) => `${method} ${path}`).sort())
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect(await client.get('/')).toMatchObject({ status: 200, body: expect.stringContaining('agentctl') })
    expect(await client.get('/readyz')).toMatchObject({ status: 200, body: { status: 'ok' } })
    const nothing = await client.get('/v1/nothing')
    expect(nothing).toMatchObject({ status: 404, body: { code: 'not_found', status: 404 } })
    expect(nothing.headers.get('content-type')).toBe('application/problem+json')
  })

  it('kept to what GitHub describes', () => {
    github.assertValid()
  })
})
