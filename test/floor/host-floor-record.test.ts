import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ledgerFile } from '../../action/ledger-file.ts'
import { LedgerStore, openNodeSql, systemClock, systemIds, verifyAudit } from '../../ledger/index.ts'
import { parseFloor } from '../../policy/decision/index.ts'
import { hostFloorRecord } from '../../runner/facts/host-floor.ts'
import { builtAction, newJob, runJob } from '../action/job.ts'
import { createDesk, type Desk, documentOf, envelopeOf } from '../cli/support.ts'
import { actor, create, end, holder, move } from '../ledger/support/commands.ts'

/** What a run's record says of its host's floor, wherever it is read. */
const assign = documentOf({
  actions: { a: { kind: 'builtin.assign' } },
  tasks: [{ id: 'a', uses: 'action:a', with: { x: 1 } }],
})

function openStore(file: string): { store: LedgerStore; close(): void } {
  const sql = openNodeSql(file)
  return { store: new LedgerStore(sql, { clock: systemClock, ids: systemIds }), close: () => sql.close() }
}

it('an installed one is told with its digest, none and an unreadable one by name', () => {
  const parsed = parseFloor({ minimumApprovals: 2 }, 'host')
  if (!parsed.ok) throw new Error(parsed.message)
  expect(hostFloorRecord(parsed.floor)).toEqual({
    state: 'installed',
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(hostFloorRecord(null)).toEqual({ state: 'none' })
  expect(hostFloorRecord(null, false)).toEqual({ state: 'not readable' })
})

describe('in the Action', () => {
  let action: Awaited<ReturnType<typeof builtAction>>
  beforeAll(async () => {
    action = await builtAction()
  })
  afterAll(() => action.remove())

  it.each([
    ['a job container', { container: 'f00dfeed' }, 'not readable'],
    ['a job of the host', {}, 'none'],
  ])('%s', async (_, inputs, state) => {
    const job = newJob({ 'flow.yaml': assign }, { workflow: 'flow.yaml', ...inputs })
    try {
      const ended = await runJob(action.entry, job)
      expect(ended.exitCode, ended.log).toBe(0)
      const { store, close } = openStore(ledgerFile(job.temp))
      try {
        const [record] = store.runs().items
        expect(record?.hostFloor).toEqual({ state })
        const [created] = store.events({ chain: `run/${record?.run}` }).items
        expect(created).toMatchObject({ type: 'run.created', data: { hostFloor: { state } } })
        expect(await verifyAudit(store.exportLines())).toMatchObject({ ok: true })
      } finally {
        close()
      }
    } finally {
      job.remove()
    }
  })
})

describe('at the terminal', () => {
  let desk: Desk
  beforeEach(() => {
    desk = createDesk()
  })
  afterEach(() => desk.dispose())

  it('inspect and audit show it', async () => {
    desk.put('flow.yaml', assign)
    const ran = envelopeOf(await desk.cli('run', 'flow.yaml', '--output', 'json'))
    const { runId } = ran.data
    expect((await desk.cli('inspect', runId)).stdout).toMatch(/^ {2}floor {4}none, host floor none$/m)
    const inspected = envelopeOf(await desk.cli('inspect', runId, '--output', 'json'))
    expect(inspected.data.run.hostFloor).toEqual({ state: 'none' })
    const shown = envelopeOf(await desk.cli('audit', 'show', runId, '--output', 'json'))
    expect(shown.data.events[0].data.hostFloor).toEqual({ state: 'none' })
  })

  it('is that of who last worked on the run, and stays where a later holder does not tell', async () => {
    const { store, close } = openStore(desk.put('x', '').replace(/x$/, 'runtime.db'))
    try {
      const tasks = [{ id: 'a' }]
      const told = { ...create(tasks), hostFloor: { state: 'none' as const } }
      const job = { kind: 'job', workflowRunId: 7001, attempt: 1 } as const
      store.apply({ run: 'r', epoch: 1, commands: [told, move('a', 'running')] }, actor, job)
      const taking = (attempt: number, state?: 'not readable') =>
        store.acquire('r', { kind: 'job', workflowRunId: 7001, attempt }, `job:7001/${attempt}`, {
          ...(state !== undefined && { hostFloor: { state } }),
        })
      expect(taking(2, 'not readable')).toEqual({ epoch: 2, taken: true })
      expect(store.record('r')?.hostFloor).toEqual({ state: 'not readable' })
      expect(taking(3)).toEqual({ epoch: 3, taken: true })
      expect(store.record('r')?.hostFloor).toEqual({ state: 'not readable' })
      const taken = store.events({ chain: 'run/r' }).items.filter(({ type }) => type === 'lease.acquired')
      expect(taken.map(({ data }) => data?.['hostFloor'])).toEqual([{ state: 'not readable' }, undefined])

      store.apply({ run: 'quiet', epoch: 1, commands: [create([]), end('succeeded')] }, actor, holder)
      expect(store.record('quiet')?.hostFloor).toBeNull()
      expect(await verifyAudit(store.exportLines())).toMatchObject({ ok: true })
    } finally {
      close()
    }
  })
})
