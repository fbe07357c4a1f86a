import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { cancelMany, expectInTime, ledgerOf, marked } from './cancels.ts'
import { flow, shell, there, until } from './documents.ts'
import { builtAction, type JobAttempt, newJob, postOf, runJob } from './job.ts'
import { type OtherUser, otherUser } from './other-user.ts'

/** A cancel in every phase of main and post: children first, then records, all within 5 s (03, Containment). */
let action: Awaited<ReturnType<typeof builtAction>>
let user: OtherUser | null
beforeAll(async () => {
  action = await builtAction()
  user = otherUser(61_202, action.folder)
})
afterAll(() => {
  user?.remove()
  action.remove()
})

const jobs: JobAttempt[] = []
const servers: Server[] = []
afterEach(() => {
  for (const job of jobs.splice(0)) job.remove()
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

function newAttempt(
  document: string,
  more: { inputs?: Record<string, string>; environment?: Record<string, string> } = {},
) {
  const job = newJob({ 'flow.yaml': document }, { workflow: 'flow.yaml', ...more.inputs }, more.environment)
  jobs.push(job)
  return job
}

/** Runs an entry, signals it once `when` has come, and says how long it took from there. */
async function signalled(
  entry: string,
  job: JobAttempt,
  signal: NodeJS.Signals,
  when: () => Promise<unknown>,
  more: (pid: number) => void = () => {},
) {
  let sent = 0
  const act = async (pid: number) => {
    await when()
    sent = performance.now()
    process.kill(pid, signal)
    more(pid)
  }
  const end = await runJob(entry, job, { text: '', act: pid => void act(pid) })
  return { ...end, milliseconds: performance.now() - sent }
}

test('10 cancels: children gone, records written, within 5 s', async () => {
  const ends = await cancelMany(10, action, user)
  expect(ends).toHaveLength(10)
  expectInTime(ends)
})

test.each([0, 15, 40, 80, 120, 200])(
  '%i ms after its start: nothing is left, the post step ends green',
  async after => {
    const marker = `early-${process.pid}-${after}-${Date.now()}`
    const job = newAttempt(shell('touch begun; sleep 600; true', { marker }))
    const end = await signalled(action.entry, job, 'SIGINT', () => new Promise(resolve => setTimeout(resolve, after)))
    expect(end.milliseconds).toBeLessThan(5_000)
    // Before its handlers stand a process ends by the signal itself: then nothing had begun.
    if (end.signal === 'SIGINT') expect([end.state, end.outputs]).toEqual([{}, {}])
    else expect(end).toMatchObject({ exitCode: 130, state: { concluded: 'true' } })
    expect(marked(marker)).toEqual([])
    const post = await runJob(action.post, postOf(job, end.state))
    expect(post).toMatchObject({ exitCode: 0, signal: null })
  },
)

/** Answers nothing; the promise is kept once it was asked for the path. */
async function silentServer(path: string): Promise<{ url: string; asked: Promise<void> }> {
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    if (request.url?.startsWith(path)) return resolve()
    response.setHeader('content-type', 'application/json').end('{"value":"token"}')
  })
  servers.push(server)
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no TCP address')
  return { url: `http://127.0.0.1:${address.port}`, asked }
}

const attached = (url: string) => ({
  inputs: { 'control-plane-url': url, 'github-token': 'ghs_of_the_job', 'job-id': '5', matrix: 'null' },
  environment: { ACTIONS_ID_TOKEN_REQUEST_URL: `${url}/token`, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token' },
})

describe.each([
  ['GitHub gives no OIDC token', '/token'],
  ['the control plane does not answer the attach', '/v1/attach'],
])('%s', (_, path) => {
  test('main ends cancelled, at once', async () => {
    const { url, asked } = await silentServer(path)
    const job = newAttempt(shell('true'), attached(url))
    const end = await signalled(action.entry, job, 'SIGINT', () => asked)
    expect(end).toMatchObject({ exitCode: 130, outputs: { status: 'cancelled', 'exit-code': '130' } })
    // The attach may have been heard: the post step asks.
    expect(end.state).toEqual({ document: 'flow.yaml', asker: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    expect(end.milliseconds).toBeLessThan(3_000)
  })

  test('the post step ends green, at once', async () => {
    const { url, asked } = await silentServer(path)
    const job = newAttempt(shell('true'), attached(url))
    const end = await signalled(
      action.post,
      postOf(job, { document: 'flow.yaml', asker: 'main' }),
      'SIGINT',
      () => asked,
    )
    expect(end).toMatchObject({ exitCode: 0, signal: null })
    expect(end.log).toContain('could not be settled')
    expect(end.milliseconds).toBeLessThan(3_000)
  })

  test('left alone, the post step ends green within 10 s', async () => {
    const { url } = await silentServer(path)
    const began = performance.now()
    const end = await runJob(
      action.post,
      postOf(newAttempt(shell('true'), attached(url)), { document: 'flow.yaml', asker: 'main' }),
    )
    expect(performance.now() - began).toBeLessThan(10_500)
    expect(end).toMatchObject({ exitCode: 0, signal: null })
    expect(end.log).toContain('could not be settled')
  })
})

test('of 128 tasks the 64 that run end and none of the queued ones starts', async () => {
  const names = Array.from({ length: 128 }, (_, index) => `t${index}`)
  const marker = `many-${process.pid}-${Date.now()}`
  const document = flow(`  policy: { processAllowlist: [sh], approval: never }
  runtime: { maxConcurrency: 64 }
  actions:
${names.map(name => `    ${name}: { kind: builtin.shell.exec, command: /bin/sh, args: [-c, "touch begun.$1; sleep 600; true", ${marker}, ${name}] }\n`).join('')}  tasks:
${names.map(name => `    - { id: ${name}, uses: "action:${name}" }\n`).join('')}`)
  const job = newAttempt(document)
  const begun = () => readdirSync(job.workspace).filter(name => name.startsWith('begun.'))
  const end = await signalled(action.entry, job, 'SIGINT', () => until(() => begun().length === 64, '64 tasks'))
  expect(end).toMatchObject({ exitCode: 130, outputs: { status: 'uncertain' } })
  expect(end.milliseconds).toBeLessThan(5_000)
  expect(marked(marker)).toEqual([])
  expect(begun()).toHaveLength(64)
  const { effects, tasks } = await ledgerOf(job.temp)
  expect(effects.map(({ state }) => state)).toEqual(Array.from({ length: 64 }, () => 'uncertain'))
  expect(tasks.filter(({ state }) => state === 'pending')).toHaveLength(64)
})

test('while it waits to try again: cancelled, and nothing is uncertain', async () => {
  const more = ', idempotency: idempotent'
  const task = ', retry: { maxAttempts: 3, backoffMs: 60000 }'
  const job = newAttempt(shell('echo try >> tries; exit 1', { more, task }))
  const file = join(job.temp, 'agentctl/ledger.db')
  const isWaiting = () => {
    if (!existsSync(join(job.workspace, 'tries'))) return false
    const database = new DatabaseSync(file, { readOnly: true })
    const row = database.prepare('SELECT attempt, state FROM tasks').get()
    database.close()
    return row?.['attempt'] === 2 && row['state'] === 'pending'
  }
  const end = await signalled(action.entry, job, 'SIGTERM', () => until(isWaiting, 'the wait before the second try'))
  expect(end).toMatchObject({ exitCode: 130, outputs: { status: 'cancelled' }, state: { concluded: 'true' } })
  expect(end.milliseconds).toBeLessThan(2_000)
  expect(readFileSync(join(job.workspace, 'tries'), 'utf8')).toBe('try\n')
  expect((await ledgerOf(job.temp)).record?.state).toBe('cancelled')
})

describe('a second signal', () => {
  const deaf = (marker: string) => shell('trap "" TERM; touch begun; while :; do sleep 600; done', { marker })

  test.each([
    ['takes the grace of a child that does not hear the first', true],
    ['is what takes it: without one the child has its two seconds', false],
  ])('%s', async (_, again) => {
    const marker = `deaf-${process.pid}-${again}-${Date.now()}`
    const job = newAttempt(deaf(marker))
    const second = (pid: number) => void (again && setTimeout(() => process.kill(pid, 'SIGTERM'), 50))
    const end = await signalled(action.entry, job, 'SIGINT', () => there(join(job.workspace, 'begun')), second)
    expect(end).toMatchObject({ exitCode: 130, outputs: { status: 'uncertain' }, state: { concluded: 'true' } })
    expect(end.milliseconds < 1_900).toBe(again)
    expect(end.milliseconds).toBeLessThan(5_000)
    expect(marked(marker)).toEqual([])
    expect((await ledgerOf(job.temp)).record?.state).toBe('uncertain')
  })

  test('a storm of them corrupts nothing', async () => {
    const marker = `storm-${process.pid}-${Date.now()}`
    const job = newAttempt(deaf(marker))
    const storm = (pid: number) => {
      for (let count = 0; count < 40; count++)
        setTimeout(() => {
          try {
            process.kill(pid, (['SIGINT', 'SIGTERM', 'SIGHUP'] as const)[count % 3])
          } catch {
            // It has ended.
          }
        }, count * 5)
    }
    const end = await signalled(action.entry, job, 'SIGINT', () => there(join(job.workspace, 'begun')), storm)
    // Node gives its handlers back in its last moment: a signal that comes then ends a process that has concluded.
    if (end.signal === null) expect(end.exitCode).toBe(130)
    expect(end).toMatchObject({ outputs: { status: 'uncertain', 'exit-code': '130' }, state: { concluded: 'true' } })
    expect(marked(marker)).toEqual([])
    expect((await ledgerOf(job.temp)).record?.state).toBe('uncertain')
  })
})
