import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemIds } from '../../ledger/index.ts'
import { type Ledger, LedgerError } from '../../ledger/port.ts'
import type { JsonObject } from '../../policy/json.ts'
import type { Timings } from '../../runner/run.ts'
import {
  createScene,
  freely,
  freshWorkspace,
  getFile,
  planOf,
  putFile,
  resume,
  type Scene,
  start,
  statesOf,
  write,
} from './support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const assign = { kind: 'builtin.assign' }
const sh = (script: string, more: JsonObject = {}) => ({
  kind: 'builtin.shell.exec',
  command: '/bin/sh',
  args: ['-c', script],
  ...more,
})
const processes = { approval: 'never', processAllowlist: ['sh'], writableRoots: ['out'] }
const quick: Timings = { renewEvery: 20_000, startWithin: 40_000, deliverFor: 1_000, deliverForCancelled: 300 }

function logOf(name = 'log'): { place: string; lines(): string[] } {
  const place = path.join(scene.directory, name)
  return { place, lines: () => (existsSync(place) ? readFileSync(place, 'utf8').split('\n').filter(Boolean) : []) }
}

/** The scene's ledger with some calls of `apply` replaced. */
function ledgerWith(
  apply: (call: number, go: () => ReturnType<Ledger['apply']>) => ReturnType<Ledger['apply']>,
): Ledger {
  let calls = 0
  return {
    apply: batch => {
      calls += 1
      return apply(calls, () => scene.ledger.apply(batch))
    },
    snapshot: run => scene.ledger.snapshot(run),
    putBlob: bytes => scene.ledger.putBlob(bytes),
    getBlob: sha256 => scene.ledger.getBlob(sha256),
    close: async () => {},
  }
}

function unreachable(): never {
  throw new LedgerError('unreachable', 'no answer')
}

describe('retry', () => {
  const flaky = (log: string, idempotency: string) =>
    sh(`echo x >> '${log}'; [ $(wc -l < '${log}') -ge 3 ]`, { idempotency })
  const planFor = (log: string, idempotency: string, maxAttempts: number) =>
    planOf({
      policy: processes,
      actions: { flaky: flaky(log, idempotency) },
      tasks: [{ id: 'flaky', uses: 'action:flaky', retry: { maxAttempts, backoffMs: 5 } }],
    })

  test.each([
    ['idempotent', 5, 'succeeded', 3],
    ['keyed', 3, 'succeeded', 3],
    ['idempotent', 2, 'failed', 2],
    ['unknown', 5, 'failed', 1],
    ['at_most_once', 5, 'failed', 1],
  ])('%s, at most %i attempts: %s after %i', async (idempotency, maxAttempts, state, ran) => {
    const log = logOf()
    const outcome = await start(scene, planFor(log.place, idempotency, maxAttempts))
    expect(outcome.state).toBe(state)
    expect(log.lines()).toHaveLength(ran)
    const effects = scene.ledger.store.effects(outcome.run)
    expect(effects.map(({ attempt }) => attempt)).toEqual(Array.from({ length: ran }, (_, index) => index + 1))
    expect(new Set(effects.map(({ effect }) => effect)).size).toBe(ran)
  })

  test('a cancel during the backoff ends it', async () => {
    const controller = new AbortController()
    const log = logOf()
    const plan = planOf({
      policy: processes,
      actions: { flaky: flaky(log.place, 'idempotent') },
      tasks: [{ id: 'flaky', uses: 'action:flaky', retry: { maxAttempts: 5, backoffMs: 60_000 } }],
    })
    const running = start(scene, plan, { ports: { signal: controller.signal } })
    while (scene.ledger.store.runs().items.length === 0 || log.lines().length === 0) await sleep(10)
    await sleep(100)
    controller.abort(new Error('SIGTERM'))
    expect(await running).toMatchObject({ state: 'cancelled', exitCode: 130 })
    expect(log.lines()).toHaveLength(1)
  })
})

describe('failure', () => {
  test('stop: what is pending is cancelled; continue: what does not depend on it goes on, and the run still fails', async () => {
    for (const failure of ['stop', 'continue']) {
      const plan = planOf({
        actions: { assign, assert: { kind: 'builtin.assert' } },
        tasks: [
          { id: 'bad', uses: 'action:assert', failure, with: { that: false, message: 'not so' } },
          { id: 'after', uses: 'action:assign', needs: ['bad'], with: {} },
          { id: 'other', uses: 'action:assign', with: {} },
        ],
      })
      const outcome = await start(scene, plan)
      expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
      expect(outcome.messages).toEqual(['task bad failed (assertion_failed): not so'])
      expect(statesOf(scene, outcome.run)).toEqual({
        bad: 'failed',
        after: 'cancelled',
        other: failure === 'stop' ? 'cancelled' : 'succeeded',
      })
    }
  })

  test('templates that name what is missing, and outputs that do', async () => {
    const missing = planOf({
      actions: { assign },
      tasks: [
        { id: 'a', uses: 'action:assign', with: {} },
        { id: 'b', uses: 'action:assign', needs: ['a'], with: { x: '${{ tasks.a.output.output.absent }}' } },
      ],
    })
    const outcome = await start(scene, missing)
    expect(outcome.messages.join()).toMatch(/task b failed \(invalid_template\).*absent/)
    const outputs = planOf({
      outputs: { x: '${{ tasks.a.output.output.absent }}' },
      actions: { assign },
      tasks: [{ id: 'a', uses: 'action:assign', with: {} }],
    })
    expect(await start(scene, outputs)).toMatchObject({ state: 'failed', exitCode: 4 })
  })

  test('a budget that is used up is named', async () => {
    const plan = planOf({
      runtime: { budgets: { maxTasks: 1 } },
      actions: { assign },
      tasks: [
        { id: 'a', uses: 'action:assign', with: {} },
        { id: 'b', uses: 'action:assign', with: {} },
      ],
    })
    const outcome = await start(scene, plan)
    expect(outcome).toMatchObject({ state: 'failed' })
    expect(outcome.messages.join()).toContain('maxTasks (1)')
  })
})

describe('concurrency', () => {
  test('64 tasks four at a time: never more at once, batches in plan order, moves in plan order', async () => {
    const log = logOf()
    const ids = Array.from({ length: 64 }, (_, index) => `t${String(index).padStart(2, '0')}`)
    const plan = planOf({
      runtime: { maxConcurrency: 4 },
      policy: processes,
      actions: Object.fromEntries(
        ids.map(id => [id, sh(`echo + ${id} >> '${log.place}'; sleep 0.02; echo - ${id} >> '${log.place}'`)]),
      ),
      tasks: ids.map(id => ({ id, uses: `action:${id}` })),
    })
    const outcome = await start(scene, plan)
    expect(outcome.state).toBe('succeeded')
    let now = 0
    let most = 0
    for (const line of log.lines()) {
      now += line.startsWith('+') ? 1 : -1
      most = Math.max(most, now)
    }
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(4)
    const moves = [...scene.ledger.store.exportLines(outcome.run)]
      .map(line => JSON.parse(line) as { type: string; data: { task: string; to: string } })
      .filter(({ type, data }) => type === 'task.moved' && data.to === 'succeeded')
      .map(({ data }) => data.task)
    expect(moves).toEqual(ids)
  })

  test('a batch works on memory as it was; deltas commit in plan order', async () => {
    const plan = planOf({
      runtime: { maxConcurrency: 4 },
      memory: { working: { k: 0 } },
      outputs: {
        first: '${{ tasks.read.output.value }}',
        later: '${{ tasks.again.output.value }}',
        before: '${{ tasks.write.output.before }}',
      },
      actions: { w: { kind: 'builtin.memory.write' }, r: { kind: 'builtin.memory.read' } },
      tasks: [
        { id: 'write', uses: 'action:w', with: { key: 'k', value: 1 } },
        { id: 'read', uses: 'action:r', with: { key: 'k' } },
        { id: 'again', uses: 'action:r', needs: ['write', 'read'], with: { key: 'k' } },
      ],
    })
    const outcome = await start(scene, plan)
    expect(outcome.outputs).toEqual({ first: 0, later: 1, before: 0 })
    expect(scene.ledger.store.snapshot(outcome.run)?.memory).toEqual({ k: 1 })
  })

  test('two writes of one file never run at once', async () => {
    const plan = planOf({
      runtime: { maxConcurrency: 8 },
      policy: freely,
      outputs: { before: '${{ tasks.b.output.before }}' },
      actions: { write },
      tasks: [
        { id: 'a', uses: 'action:write', with: { path: 'out/x', content: 'a' } },
        { id: 'b', uses: 'action:write', with: { path: './out/x', content: 'b' } },
      ],
    })
    expect(await start(scene, plan)).toMatchObject({ state: 'succeeded', outputs: { before: 'a' } })
    expect(getFile(scene, 'out/x')).toBe('b')
  })

  test('one of a batch fails: the others of the batch are seen to their end, nothing further starts', async () => {
    const log = logOf()
    const plan = planOf({
      runtime: { maxConcurrency: 2 },
      policy: processes,
      actions: {
        bad: sh('exit 1'),
        slow: sh(`sleep 0.2; echo slow >> '${log.place}'`),
        next: sh(`echo next >> '${log.place}'`),
      },
      tasks: [
        { id: 'bad', uses: 'action:bad' },
        { id: 'slow', uses: 'action:slow' },
        { id: 'next', uses: 'action:next' },
      ],
    })
    const outcome = await start(scene, plan)
    expect(statesOf(scene, outcome.run)).toEqual({ bad: 'failed', slow: 'succeeded', next: 'cancelled' })
    expect(log.lines()).toEqual(['slow'])
  })
})

describe('the ledger fails', () => {
  const plan = () =>
    planOf({
      policy: freely,
      actions: { write },
      tasks: [
        { id: 'a', uses: 'action:write', with: { path: 'out/a', content: 'a' } },
        { id: 'b', uses: 'action:write', with: { path: 'out/b', content: 'b' } },
      ],
    })

  test('unreachable for a while: delivered again, each command applied once', async () => {
    const ledger = ledgerWith(async (call, go) => {
      if (call === 2) return unreachable()
      const receipt = await go()
      // Applied, and the answer lost: the same commands come again.
      if (call === 4) return unreachable()
      return receipt
    })
    const outcome = await start(scene, plan(), { ports: { ledger, timings: quick } })
    expect(outcome).toMatchObject({ state: 'succeeded', exitCode: 0 })
    expect(scene.ledger.store.effects(outcome.run).map(({ state }) => state)).toEqual(['succeeded', 'succeeded'])
  })

  test('unreachable for too long: exit 5, the result told in the form that reconcile takes', async () => {
    const ledger = ledgerWith((call, go) => (call >= 2 ? unreachable() : go()))
    const outcome = await start(scene, plan(), { ports: { ledger, timings: quick } })
    expect(outcome).toMatchObject({ state: 'running', exitCode: 5 })
    const [effect] = scene.ledger.store.effects(outcome.run)
    expect(outcome.messages.join('\n')).toContain(`agentctl effects reconcile ${effect?.effect} --status applied`)
    expect(JSON.parse(outcome.messages.at(-1) ?? '')).toMatchObject({ status: 'changed', path: 'out/a' })
    expect(getFile(scene, 'out/b')).toBeNull()

    freshWorkspace(scene)
    const resumed = await resume(scene, outcome.run)
    expect(resumed).toMatchObject({ state: 'uncertain', exitCode: 4 })
    expect(resumed.messages.join('\n')).toContain(`agentctl effects reconcile ${effect?.effect}`)
    expect(statesOf(scene, outcome.run)).toEqual({ a: 'uncertain', b: 'pending' })
  })

  test.each(['full', 'read_only', 'corrupt', 'unauthorised'] as const)(
    '%s before the first batch: exit 5, nothing ran',
    async code => {
      const ledger = ledgerWith(() => {
        throw new LedgerError(code, 'told by the test')
      })
      const outcome = await start(scene, plan(), { ports: { ledger } })
      expect(outcome).toMatchObject({ exitCode: 5 })
      expect(outcome.messages.join()).toContain(code)
      expect(getFile(scene, 'out/a')).toBeNull()
    },
  )

  test('another holder has the run: stale_epoch, and no effect starts', async () => {
    let taken = false
    const ledger = ledgerWith(async (call, go) => {
      const receipt = await go()
      if (call === 1) {
        const run = scene.ledger.store.runs().items[0]?.run ?? ''
        scene.ledger.store.acquire(run, { kind: 'local', bootId: 'x', pid: 1, startTime: '1' }, 'local:0', {
          isAlive: () => false,
        })
        taken = true
      }
      return receipt
    })
    const outcome = await start(scene, plan(), { ports: { ledger } })
    expect(taken).toBe(true)
    expect(outcome).toMatchObject({ exitCode: 5 })
    expect(outcome.messages.join()).toContain('stale_epoch')
    expect(getFile(scene, 'out/b')).toBeNull()
  })

  test('the lease is renewed while an effect runs', async () => {
    const kinds: string[] = []
    const ledger: Ledger = {
      ...ledgerWith((_, go) => go()),
      apply: batch => {
        kinds.push(...batch.commands.map(({ type }) => type))
        return scene.ledger.apply(batch)
      },
    }
    const slow = planOf({
      policy: processes,
      actions: { slow: sh('sleep 0.5') },
      tasks: [{ id: 'slow', uses: 'action:slow' }],
    })
    await start(scene, slow, { ports: { ledger, timings: { ...quick, renewEvery: 50 } } })
    const [from, to] = [kinds.indexOf('effect.start'), kinds.indexOf('effect.finish')]
    expect(kinds.slice(from, to).filter(kind => kind === 'lease.renew').length).toBeGreaterThan(2)
  })

  test('no effect starts once the lease could not be renewed in time', async () => {
    const ledger = ledgerWith(async (_, go) => {
      const receipt = await go()
      await sleep(60)
      return receipt
    })
    const outcome = await start(scene, plan(), { ports: { ledger, timings: { ...quick, startWithin: 20 } } })
    expect(outcome).toMatchObject({ exitCode: 5 })
    expect(outcome.messages.join()).toContain('lease could not be renewed')
    expect(getFile(scene, 'out/a')).toBeNull()
  })
})

test('a cancel through the ledger reaches the runner with its next receipt', async () => {
  const log = logOf()
  const plan = planOf({
    policy: processes,
    actions: { first: sh(`echo first >> '${log.place}'`), second: sh(`echo second >> '${log.place}'`) },
    tasks: [
      { id: 'first', uses: 'action:first' },
      { id: 'second', uses: 'action:second' },
    ],
  })
  const run = systemIds.uuid()
  const ledger = ledgerWith(async (call, go) => {
    const receipt = await go()
    if (call === 1)
      scene.ledger.store.control(
        {
          run,
          commands: [
            {
              id: systemIds.uuid(),
              type: 'run.cancel',
              person: { id: 1, login: 'someone' },
              reason: 'enough',
              via: 'cli',
            },
          ],
        },
        'local:0',
      )
    return receipt
  })
  const outcome = await start(scene, plan, { ports: { ledger }, run: { run } })
  expect(outcome).toMatchObject({ state: 'cancelled', exitCode: 130 })
  expect(log.lines()).toEqual(['first'])
  expect(statesOf(scene, run)).toEqual({ first: 'succeeded', second: 'cancelled' })
  expect(await resume(scene, run)).toMatchObject({ state: 'cancelled', exitCode: 130 })
})

test('a policy file edited during the run changes nothing: the run has the policy that it began with', async () => {
  putFile(scene, 'test.yaml', 'policy')
  const plan = planOf({
    policy: { ...processes, writableRoots: ['.'] },
    actions: { edit: sh('echo other > test.yaml'), write },
    tasks: [
      { id: 'edit', uses: 'action:edit' },
      { id: 'deny', uses: 'action:write', needs: ['edit'], with: { path: 'test.yaml', content: 'mine' } },
    ],
  })
  const outcome = await start(scene, plan, { ports: { protectedPaths: [path.join(scene.workspace, 'test.yaml')] } })
  expect(outcome.state).toBe('denied')
  expect(outcome.messages.join()).toContain('never_writable')
})

test('large values travel as blobs and come back whole', async () => {
  const text = 'line of text\n'.repeat(20_000)
  putFile(scene, 'big.txt', text)
  const plan = planOf({
    policy: freely,
    outputs: { content: '${{ tasks.read.output.content }}' },
    actions: { read: { kind: 'builtin.read' }, write },
    tasks: [
      { id: 'read', uses: 'action:read', with: { path: 'big.txt' } },
      {
        id: 'copy',
        uses: 'action:write',
        needs: ['read'],
        with: { path: 'out/copy.txt', content: '${{ tasks.read.output.content }}' },
      },
    ],
  })
  const outcome = await start(scene, plan)
  expect(outcome).toMatchObject({ state: 'succeeded', outputs: { content: text } })
  expect(getFile(scene, 'out/copy.txt')).toBe(text)
  expect(scene.ledger.store.snapshot(outcome.run)?.outputs).toEqual({ content: text })
})
