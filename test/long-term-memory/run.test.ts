import { afterEach, expect, test } from 'vitest'
import { systemIds, verifyAudit } from '../../ledger/index.ts'
import type { Ledger } from '../../ledger/port.ts'
import { compile, parseDocument } from '../../policy/document/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import { dyingLedger, Killed } from '../runner/crash.ts'
import { createScene, planOf, predict, resume, type Scene, start, statesOf, vote } from '../runner/support.ts'

const scenes: Scene[] = []
afterEach(() => {
  for (const made of scenes.splice(0)) made.dispose()
})
function scene(): Scene {
  const made = createScene()
  scenes.push(made)
  return made
}

const kind = (name: string) => ({ kind: `builtin.long_term_memory.${name}` })
const actions = {
  read: kind('read'),
  search: kind('search'),
  write: kind('write'),
  promote: kind('promote'),
  remember: { kind: 'builtin.memory.write' },
  assign: { kind: 'builtin.assign' },
  fail: { kind: 'builtin.assert', with: { that: false, message: 'no' } },
}
const task = (id: string, uses: string, input: JsonObject, needs: string[] = []) => ({
  id,
  uses: `action:${uses}`,
  needs,
  with: input,
})
const spec = (tasks: object[], more: JsonObject = {}) => ({ policy: { approval: 'never' }, actions, tasks, ...more })
const outputOf = (made: Scene, run: string, id: string) =>
  made.ledger.store.snapshot(run)?.tasks.find(entry => entry.task === id)?.output

test('a value written is read and found in the same run and in a later one', async () => {
  const made = scene()
  const first = await start(
    made,
    planOf(
      spec([
        task('w', 'write', { key: 'version', value: { tag: 'v1' } }),
        task('again', 'write', { key: 'version', value: { tag: 'v2' } }, ['w']),
        task('r', 'read', { key: 'version' }, ['again']),
        task('s', 'search', { query: 'TAG v2' }, ['r']),
        task('m', 'remember', { key: 'note', value: [1, 2] }, ['s']),
        task('p', 'promote', { key: 'note' }, ['m']),
      ]),
    ),
  )
  expect(first.messages).toEqual([])
  expect(first.state).toBe('succeeded')
  expect(outputOf(made, first.run, 'w')).toEqual({ key: 'version', before: null, after: { tag: 'v1' }, changed: true })
  expect(outputOf(made, first.run, 'again')).toMatchObject({ before: { tag: 'v1' }, changed: true })
  expect(outputOf(made, first.run, 'r')).toEqual({ value: { tag: 'v2' } })
  expect(outputOf(made, first.run, 's')).toEqual({ items: [{ key: 'version', value: { tag: 'v2' } }] })
  const later = await start(made, planOf(spec([task('r', 'read', { key: 'note' })])))
  expect(outputOf(made, later.run, 'r')).toEqual({ value: [1, 2] })
})

test('namespaces do not see each other, and what is not there fails by name', async () => {
  const made = scene()
  const memory = (namespace: string) => ({ memory: { longTerm: { namespace } } })
  await start(made, planOf(spec([task('w', 'write', { key: 'k', value: 1 })], memory('one'))))
  const other = await start(
    made,
    planOf(spec([task('s', 'search', { query: 'k' }), task('r', 'read', { key: 'k' }, ['s'])], memory('two'))),
  )
  expect(outputOf(made, other.run, 's')).toEqual({ items: [] })
  expect(other).toMatchObject({ state: 'failed', exitCode: 4 })
  expect(other.messages.join()).toMatch(/missing_memory.*namespace two.*"k"/)
})

test('what a plan retains for days is written with the time at which it is over', async () => {
  const made = scene()
  const kept = { memory: { longTerm: { namespace: 'n', retentionDays: 1 } } }
  await start(made, planOf(spec([task('w', 'write', { key: 'k', value: 1 })], kept)))
  const item = made.ledger.store.events({ chain: 'ledger' }).items.at(-1)
  expect(item).toBeDefined()
  const events = made.ledger.store
    .runs()
    .items.flatMap(({ run }) => made.ledger.store.events({ chain: `run/${run}` }).items)
  const written = events.find(({ type }) => type === 'long_term.written')
  const at = Date.parse(written?.at ?? '')
  expect(written?.data).toMatchObject({ namespace: 'n', expiresAt: new Date(at + 86_400_000).toISOString() })
})

test('a write asks under `mutations`, a promotion and a read do not; the approval is for the value that it replaces', async () => {
  const made = scene()
  await start(made, planOf(spec([task('w', 'write', { key: 'k', value: 'old' })])))
  const plan = planOf(
    spec(
      [
        task('r', 'read', { key: 'k' }),
        task('p', 'promote', { key: 'note' }),
        task('w', 'write', { key: 'k', value: 'new' }),
      ],
      { policy: { approval: 'mutations' }, memory: { working: { note: 1 } } },
    ),
  )
  const paused = await start(made, plan)
  expect(paused).toMatchObject({ state: 'paused', exitCode: 3 })
  expect(paused.pause?.items.map(item => item.task)).toEqual(['w'])
  expect(paused.pause?.items[0]?.expectedEffect).toMatchObject({
    kind: 'other',
    detail: { namespace: 'default', key: 'k', before: 'old', value: 'new' },
  })
  const resource = paused.pause?.items[0]?.decisionTrace.find(({ step }) => step === 'resource')
  expect(resource).toMatchObject({ outcome: 'allow', rule: 'own_ledger', subject: 'default/k' })
  expect(made.ledger.store.longTerm('default', 'k')?.value).toBe('old')

  // Another run changes the value meanwhile: the approval was for replacing the old one.
  vote(made, paused, 'approve')
  await start(made, planOf(spec([task('w', 'write', { key: 'k', value: 'meanwhile' })])))
  const again = await resume(made, paused.run)
  expect(again.state).toBe('paused')
  expect(again.pause?.items[0]?.reason).toContain('replaced_value_changed')
  vote(made, again, 'approve')
  expect(await resume(made, paused.run)).toMatchObject({ state: 'succeeded' })
  expect(made.ledger.store.longTerm('default', 'k')?.value).toBe('new')
})

test('a rejected write writes nothing', async () => {
  const made = scene()
  const paused = await start(
    made,
    planOf(spec([task('w', 'write', { key: 'k', value: 1 })], { policy: { approval: 'mutations' } })),
  )
  vote(made, paused, 'reject')
  expect(await resume(made, paused.run)).toMatchObject({ state: 'denied', exitCode: 3 })
  expect(made.ledger.store.longTerm('default', 'k')).toBeNull()
})

test('tool lists name the operations', async () => {
  const made = scene()
  const policy = { approval: 'never', toolsDeny: ['long_term_memory.write'] }
  const denied = await start(made, planOf(spec([task('w', 'write', { key: 'k', value: 1 })], { policy })))
  expect(denied).toMatchObject({ state: 'denied', exitCode: 3 })
  expect(denied.messages.join()).toContain('long_term_memory.write')
  expect(made.ledger.store.longTerm('default', 'k')).toBeNull()
})

test('secrets are redacted before a value is stored, and a key that tells one is refused', async () => {
  const made = scene()
  const secret = 'sesame-open-123'
  const environment = { GITHUB_TOKEN: secret }
  const outcome = await start(
    made,
    planOf(
      spec([task('w', 'write', { key: 'k', value: { text: 'the word is ${{ vars.one }}${{ vars.two }}' } })], {
        vars: { one: 'sesame-', two: 'open-123' },
      }),
    ),
    { ports: { environment } },
  )
  expect(outcome.state).toBe('succeeded')
  expect(JSON.stringify(made.ledger.store.longTerm('default', 'k'))).not.toContain(secret)
  expect([...made.ledger.store.exportLedger()].join('\n')).not.toContain(secret)
  const refused = await start(made, planOf(spec([task('w', 'write', { key: `k-${secret}`, value: 1 })])), {
    ports: { environment },
  })
  expect(refused.messages.join()).toContain('secret_in_key')
  expect(refused.messages.join()).not.toContain(secret)
})

test.each([
  ['a value of N bytes', 1_048_574, 'succeeded'],
  ['a value of N + 1 bytes', 1_048_575, 'failed'],
])('%s: bounded, a large one kept as a blob', async (_, characters, state) => {
  const made = scene()
  const value = 'x'.repeat(characters)
  const plan = { ...planOf(spec([task('w', 'promote', { key: 'k' })])), memory: { k: value } }
  const outcome = await start(made, plan)
  expect(outcome.state).toBe(state)
  expect(made.ledger.store.longTerm('default', 'k')?.value).toEqual(state === 'succeeded' ? value : undefined)
})

test('four of one batch: writes of one key go one after the other', async () => {
  const made = scene()
  const tasks = [1, 2, 3, 4].map(value => task(`w${value}`, 'write', { key: 'k', value }))
  const outcome = await start(made, planOf(spec(tasks, { runtime: { maxConcurrency: 4 } })))
  expect(outcome.state).toBe('succeeded')
  for (const value of [2, 3, 4]) expect(outputOf(made, outcome.run, `w${value}`)).toMatchObject({ before: value - 1 })
})

test('a prediction neither reads nor writes', async () => {
  const made = scene()
  await start(made, planOf(spec([task('w', 'write', { key: 'k', value: 'old' })])))
  const plan = planOf(
    spec(
      [
        task('r', 'read', { key: 'k' }),
        task('w', 'write', { key: 'k', value: 'new' }, ['r']),
        task('p', 'promote', { key: 'note' }, ['w']),
        task('after', 'assign', { value: '${{ tasks.r.output.value }}' }, ['p']),
      ],
      { memory: { working: { note: 1 } } },
    ),
  )
  const { tasks, refused } = await predict(made, plan)
  expect(refused).toBe(false)
  expect(tasks.map(({ task: id, outcome }) => [id, outcome])).toEqual([
    ['r', 'run'],
    ['w', 'run'],
    ['p', 'run'],
    ['after', 'unknown'],
  ])
  expect(made.ledger.store.longTerm('default', 'k')?.value).toBe('old')
  expect(made.ledger.store.longTerm('default', 'note')).toBeNull()
})

test('a ledger that serves no long-term memory is told by name, and nothing runs', async () => {
  const made = scene()
  const { longTerm: _, ...ledger } = made.ledger
  const outcome = await start(made, planOf(spec([task('w', 'write', { key: 'k', value: 1 })])), { ports: { ledger } })
  expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
  expect(outcome.messages.join()).toContain('unsupported_capability')
  expect(made.ledger.store.effects(outcome.run)).toEqual([])
})

/** Appends to what earlier runs wrote: a write that is lost or doubled shows in the number. */
const counting = () =>
  planOf(
    spec([
      task('r', 'read', { key: 'n' }),
      task('w', 'write', { key: 'n', value: '${{ tasks.r.output.value }}x' }, ['r']),
      task('r2', 'read', { key: 'n' }, ['w']),
      task('w2', 'write', { key: 'n', value: '${{ tasks.r2.output.value }}y' }, ['r2']),
      task('s', 'search', { query: 'n' }, ['w2']),
    ]),
  )

test.each(['before', 'after'] as const)(
  'death %s each ledger call: nothing is lost or doubled, and what was read stays what it was',
  async when => {
    for (let at = 1; ; at += 1) {
      const made = scene()
      await start(made, planOf(spec([task('w', 'write', { key: 'n', value: '' })])))
      const run = systemIds.uuid()
      const { ledger } = dyingLedger(made.ledger, at, when)
      const mortal: Ledger = made.ledger.longTerm === undefined ? ledger : { ...ledger, longTerm: made.ledger.longTerm }
      const died = await start(made, counting(), { ports: { ledger: mortal }, run: { run } }).then(
        () => false,
        error => {
          if (!(error instanceof Killed)) throw error
          return true
        },
      )
      if (made.ledger.store.record(run) === null) await start(made, counting(), { run: { run } })
      const recorded = outputOf(made, run, 'r')
      const resumed = await resume(made, run)
      expect(resumed).toMatchObject({ state: 'succeeded', exitCode: 0 })
      if (recorded !== null) expect(outputOf(made, run, 'r')).toEqual(recorded)
      expect(outputOf(made, run, 'r')).toEqual({ value: '' })
      expect(outputOf(made, run, 'r2')).toEqual({ value: 'x' })
      expect(made.ledger.store.longTerm('default', 'n')?.value).toBe('xy')
      const written = made.ledger.store
        .events({ chain: `run/${run}` })
        .items.filter(({ type }) => type === 'long_term.written')
      expect(written).toHaveLength(2)
      expect(statesOf(made, run)).toEqual({
        r: 'succeeded',
        w: 'succeeded',
        r2: 'succeeded',
        w2: 'succeeded',
        s: 'succeeded',
      })
      expect(await verifyAudit(made.ledger.store.exportLines())).toMatchObject({ ok: true })
      if (!died) break
    }
  },
)

test.each([
  ['read', { query: 'x' }, 'needs `key`'],
  ['write', { key: 'k' }, 'needs `value`'],
  ['search', { query: 'x', limit: 0 }, '`limit`'],
  ['search', { query: 'x', limit: 101 }, '`limit`'],
  ['search', { query: 'x', limit: 'ten' }, '`limit`'],
  ['promote', { key: 'k', value: 1 }, 'does not take `value`'],
])('%s with %j is refused when it is compiled', (uses, input, message) => {
  const text = JSON.stringify({
    apiVersion: 'agentctl.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'test' },
    spec: spec([task('t', uses, input)]),
  })
  const { document } = parseDocument({ text, file: 'test.yaml' })
  if (document === null) throw new Error('not parsed')
  const { plan, diagnostics } = compile({ document, inputs: {}, files: {}, floor: null })
  expect(plan).toBeNull()
  expect(diagnostics.map(diagnostic => diagnostic.message).join('\n')).toContain(message)
})
