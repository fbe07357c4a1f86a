import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { LedgerStore, openNodeSql, systemClock, systemIds, verifyAudit } from '../../ledger/index.ts'
import { flow, isGone, shell, there } from './documents.ts'
import { builtAction, type JobAttempt, type JobEnd, newJob, postOf, runJob } from './job.ts'
import { type OtherUser, otherUser } from './other-user.ts'

/** The built post step after a main that was killed, without a control plane. */
let action: Awaited<ReturnType<typeof builtAction>>
let user: OtherUser | null
beforeAll(async () => {
  action = await builtAction()
  user = otherUser(61_201, action.folder)
})
afterAll(() => {
  user?.remove()
  action.remove()
})

const jobs: JobAttempt[] = []
afterEach(() => {
  for (const job of jobs.splice(0)) {
    endLeft(job)
    job.remove()
  }
})

function newAttempt(document: string, environment: Record<string, string> = {}): JobAttempt {
  const job = newJob({ 'flow.yaml': document }, { workflow: 'flow.yaml' }, environment)
  jobs.push(job)
  return job
}

/** A test whose post step is not run, or fails, leaves nothing behind all the same. */
function endLeft(job: JobAttempt): void {
  try {
    const pid = Number(readFileSync(join(job.workspace, 'pid'), 'utf8'))
    if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep')) process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone, as it should be.
  }
}

/** Main, killed as the kernel does it out of memory once its child runs. */
async function killed(job: JobAttempt, user: OtherUser | null = null): Promise<JobEnd> {
  const act = (pid: number) => void there(join(job.workspace, 'pid')).then(() => process.kill(pid, 'SIGKILL'))
  const end = await runJob(action.entry, job, { text: 'started', act }, user)
  expect(end).toMatchObject({ exitCode: null, signal: 'SIGKILL', outputs: {} })
  return end
}

async function ledgerOf(job: JobAttempt) {
  const sql = openNodeSql(join(job.temp, 'agentctl/ledger.db'))
  try {
    const store = new LedgerStore(sql, { clock: systemClock, ids: systemIds })
    expect(await verifyAudit(store.exportLines())).toMatchObject({ ok: true })
    const [record] = store.runs().items
    const snapshot = record === undefined ? null : store.snapshot(record.run)
    return { record, tasks: snapshot?.tasks ?? [], effects: snapshot?.effects ?? [] }
  } finally {
    sql.close()
  }
}

const sleeping = shell('echo $$ > pid; exec sleep 600')

describe('main was killed while an effect ran', () => {
  test('its process is ended, the effect is uncertain, and the log says how to reconcile it', async () => {
    const job = newAttempt(sleeping)
    user?.give(job)
    const main = await killed(job, user)
    const child = Number(readFileSync(join(job.workspace, 'pid'), 'utf8'))

    const post = await runJob(action.post, postOf(job, main.state), undefined, user)
    expect(post).toMatchObject({ exitCode: 0, signal: null })
    expect(isGone(child)).toBe(true)
    // Of the suite's own user any agentctl that starts on this host ends what is left: then it was not ours to tell.
    if (user !== null)
      expect(post.log).toMatch(new RegExp(`ended process ${child} \\(sleep\\) of effect [0-9a-f]{64}, left behind`))
    const { record, tasks, effects } = await ledgerOf(job)
    expect(record).toMatchObject({ state: 'uncertain', run: main.state['run'] })
    expect(tasks).toMatchObject([{ task: 'run', state: 'uncertain', error: { code: 'interrupted' } }])
    expect(effects).toMatchObject([{ state: 'uncertain' }])
    const command = `agentctl effects reconcile ${effects[0]?.effect}`
    expect(post.log).toMatch(
      new RegExp(`^::error title=interrupted::.*Run ${record?.run} is uncertain.*${command}`, 'm'),
    )
    expect(post.summary).toContain('## agentctl flow.yaml: interrupted')
    expect(post.summary).toContain(command)
  })

  test('a second post step finds what the first one recorded', async () => {
    const job = newAttempt(sleeping)
    const { state } = await killed(job)
    await runJob(action.post, postOf(job, state))
    const before = await ledgerOf(job)
    const again = await runJob(action.post, postOf(job, state))
    expect(again.exitCode).toBe(0)
    expect(again.log).toContain('is uncertain')
    expect(await ledgerOf(job)).toEqual(before)
  })

  test('the state holds the document and the run, and no secret', async () => {
    const job = newAttempt(sleeping, { 'INPUT_GITHUB-TOKEN': 'ghs_secret_of_the_job' })
    const { state } = await killed(job)
    expect(state).toEqual({ document: 'flow.yaml', run: expect.stringMatching(/^[0-9a-f-]{36}$/) })
  })

  test('a secret of the plan is not shown by the post step either', async () => {
    const secret = 'hunter-twenty-two'
    const document =
      flow(`  policy: { processAllowlist: [sh], approval: never, environmentAllowlist: [CHILD_TOKEN, JOB_TOKEN] }
  actions:
    run: { kind: builtin.shell.exec, command: /bin/sh, args: [-c, "echo $$ > pid; exec sleep 600"], env: { CHILD_TOKEN: { env: JOB_TOKEN } } }
  tasks: [{ id: run, uses: "action:run" }]
`)
    const job = newAttempt(document, { JOB_TOKEN: secret })
    const { state } = await killed(job)
    const post = await runJob(action.post, postOf(job, { ...state, run: state['run'] ?? '' }))
    expect(post.log).toContain(`::add-mask::${secret}`)
    expect(post.log.replaceAll(`::add-mask::${secret}`, '') + post.summary).not.toContain(secret)
  })
})

test('after a main that concluded it says nothing and does nothing', async () => {
  const job = newAttempt(shell('true'))
  const main = await runJob(action.entry, job)
  expect(main).toMatchObject({ exitCode: 0, state: { concluded: 'true' } })
  const before = await ledgerOf(job)
  expect(await runJob(action.post, postOf(job, main.state))).toMatchObject({ exitCode: 0, log: '', summary: '' })
  expect(await ledgerOf(job)).toEqual(before)
})

test.each([
  [
    'was denied',
    flow(
      '  policy: { writableRoots: [out] }\n  actions: { w: { kind: builtin.write } }\n  tasks: [{ id: w, uses: "action:w", with: { path: /etc/x, content: x } }]\n',
    ),
    3,
  ],
  ['could not compile', flow('  tasks: []\n'), 2],
  ['failed', shell('exit 7'), 4],
])('a main that %s has concluded', async (_, document, exitCode) => {
  expect(await runJob(action.entry, newAttempt(document))).toMatchObject({ exitCode, state: { concluded: 'true' } })
})

describe('it ends green and says what is missing, whatever it finds', () => {
  test.each<[string, (job: JobAttempt, state: Record<string, string>) => Record<string, string>, RegExp]>([
    ['no state at all', () => ({}), /It left no word of a run/],
    ['a run that is none', (_, state) => ({ ...state, run: '../../etc\n::error::x' }), /Nothing is recorded of run/],
    ['a concluded that is not true', (_, state) => ({ ...state, concluded: 'yes' }), /is uncertain/],
    [
      'a ledger that is gone',
      (job, state) => {
        rmSync(join(job.temp, 'agentctl'), { recursive: true })
        return state
      },
      /is gone/,
    ],
    [
      'a ledger that is broken',
      (job, state) => {
        for (const end of ['-wal', '-shm']) rmSync(join(job.temp, `agentctl/ledger.db${end}`), { force: true })
        writeFileSync(join(job.temp, 'agentctl/ledger.db'), 'x'.repeat(8192))
        return state
      },
      /::error title=corrupt::.*could not be settled/,
    ],
    [
      'a document that is gone',
      (job, state) => {
        rmSync(join(job.workspace, 'flow.yaml'))
        return state
      },
      /is uncertain/,
    ],
  ])('%s', async (_, damage, expected) => {
    const job = newAttempt(sleeping)
    const { state } = await killed(job)
    const post = await runJob(action.post, postOf(job, damage(job, state)))
    expect(post).toMatchObject({ exitCode: 0, signal: null })
    expect(post.log).toMatch(expected)
    expect(post.log).not.toMatch(/^::error::x/m)
    expect(isGone(Number(readFileSync(join(job.workspace, 'pid'), 'utf8')))).toBe(true)
  })
})
