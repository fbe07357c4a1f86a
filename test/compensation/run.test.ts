import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { compensationsOf, openEmbedded, systemClock, systemIds, verifyAudit } from '../../ledger/index.ts'
import type { Ledger } from '../../ledger/port.ts'
import type { JsonObject } from '../../policy/json.ts'
import { dyingLedger, Killed } from '../runner/crash.ts'
import {
  createScene,
  freshWorkspace,
  getFile,
  planOf,
  putFile,
  resume,
  type Scene,
  start,
  statesOf,
  vote,
  voteOnPause,
} from '../runner/support.ts'

const scenes: Scene[] = []
afterEach(() => {
  for (const made of scenes.splice(0)) made.dispose()
})
function scene(files: { [path: string]: string } = {}): Scene {
  const made = createScene(files)
  scenes.push(made)
  return made
}

const actions = {
  write: { kind: 'builtin.write' },
  assign: { kind: 'builtin.assign' },
  fail: { kind: 'builtin.assert', with: { that: false, message: 'no' } },
  remember: { kind: 'builtin.memory.write' },
}
const file = (id: string, more: object = {}) => ({
  id,
  uses: 'action:write',
  with: { path: `out/${id}`, content: `${id} done` },
  compensate: { uses: 'action:write', with: { path: `out/${id}`, content: `${id} undone` } },
  ...more,
})
const broken = (needs: string[]) => ({ id: 'z', uses: 'action:fail', needs })
const policy = { writableRoots: ['out'], approval: 'never' }
const spec = (tasks: object[], more: JsonObject = {}) => ({ policy, actions, tasks, ...more })
const automatic = (approval = 'policy') => ({ compensation: { onFailure: 'automatic', approval } })

const person = { id: null, login: 'local:0' }
/** What `agentctl compensate` sends. */
function ask(made: Scene, run: string): string[] {
  const snapshot = made.ledger.store.snapshot(run)
  if (snapshot === null) throw new Error('no run')
  const tasks = compensationsOf(snapshot)
  made.ledger.store.control(
    { run, commands: [{ id: systemIds.uuid(), type: 'run.compensate', tasks, person, reason: 'test' }] },
    'local:0',
  )
  return tasks.map(({ compensates }) => compensates)
}

/** Finished compensations, in the order of the trail. */
function order(made: Scene, run: string): string[] {
  const events = made.ledger.store.events({ chain: `run/${run}` }).items
  return events.flatMap(({ type, data }) =>
    type === 'task.moved' && String(data?.['task']).includes('--compensate') && data?.['to'] === 'succeeded'
      ? [String(data['task'])]
      : [],
  )
}

const compensated = (made: Scene, run: string) =>
  made.ledger.store
    .effects(run)
    .filter(({ error }) => error?.code === 'compensated')
    .map(({ task }) => task)

test('by hand: the last to end is undone first, each under its own effect, and the run stays failed', async () => {
  const made = scene()
  const outcome = await start(
    made,
    planOf(spec([file('a'), file('b', { needs: ['a'] }), file('c', { needs: ['b'] }), broken(['c'])])),
  )
  expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
  expect(outcome.messages.join('\n')).toContain('agentctl compensate')
  expect(getFile(made, 'out/c')).toBe('c done')
  expect(ask(made, outcome.run)).toEqual(['c', 'b', 'a'])
  const undone = await resume(made, outcome.run)
  expect(undone).toMatchObject({ state: 'failed', exitCode: 4 })
  for (const id of ['a', 'b', 'c']) expect(getFile(made, `out/${id}`)).toBe(`${id} undone`)
  expect(order(made, outcome.run)).toEqual(['c--compensate', 'b--compensate', 'a--compensate'])
  expect(compensated(made, outcome.run)).toEqual(['a', 'b', 'c'])
  expect(
    made.ledger.store
      .effects(outcome.run)
      .filter(({ task }) => task.includes('--'))
      .map(effect => effect.decision.outcome),
  ).toEqual(['allow', 'allow', 'allow'])
  expect(undone.messages.join('\n')).toContain('compensated: c, b, a')
  expect(await verifyAudit(made.ledger.store.exportLines())).toMatchObject({ ok: true })
})

test('by itself where the document says so; what did not succeed, and what declares nothing, is left alone', async () => {
  const made = scene()
  const tasks = [
    file('a'),
    file('b', { when: 'inputs.yes == true' }),
    { id: 'plain', uses: 'action:write', with: { path: 'out/plain', content: 'stays' } },
    broken(['a', 'plain']),
    file('late', { needs: ['z'] }),
  ]
  const outcome = await start(made, planOf(spec(tasks, { ...automatic(), inputs: { yes: false } })))
  expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
  expect(order(made, outcome.run)).toEqual(['a--compensate'])
  expect(getFile(made, 'out/a')).toBe('a undone')
  expect(getFile(made, 'out/plain')).toBe('stays')
  expect(statesOf(made, outcome.run)).toMatchObject({ b: 'skipped', late: 'cancelled', z: 'failed' })
})

test('a run that succeeds undoes nothing', async () => {
  const made = scene()
  const outcome = await start(made, planOf(spec([file('a')], automatic())))
  expect(outcome.state).toBe('succeeded')
  expect(getFile(made, 'out/a')).toBe('a done')
})

test('a policy denial is a failure too', async () => {
  const made = scene()
  const denied = { id: 'd', uses: 'action:write', needs: ['a'], with: { path: 'elsewhere', content: '' } }
  const outcome = await start(made, planOf(spec([file('a'), denied], automatic())))
  expect(outcome).toMatchObject({ state: 'denied', exitCode: 3 })
  expect(getFile(made, 'out/a')).toBe('a undone')
})

test('with failure: continue, what goes on is undone as well', async () => {
  const made = scene()
  const failing = { id: 'z', uses: 'action:fail', failure: 'continue' }
  const outcome = await start(made, planOf(spec([failing, file('a')], automatic())))
  expect(outcome.state).toBe('failed')
  expect(getFile(made, 'out/a')).toBe('a undone')
})

test('templates read the own output, what the task read, and what expansion bound', async () => {
  const made = scene()
  const tasks = [
    { id: 'first', uses: 'action:assign', with: { word: 'from first' } },
    {
      id: 'each',
      uses: 'action:write',
      needs: ['first'],
      foreach: { items: ['x', 'y'] },
      with: { path: 'out/${{ vars.item }}', content: 'done' },
      compensate: {
        uses: 'action:write',
        with: {
          path: '${{ tasks.each.output.path }}',
          content: '${{ vars.item }} ${{ vars.foreachIndex }} ${{ tasks.first.output.output.word }} ${{ inputs.who }}',
        },
      },
    },
    broken(['each']),
  ]
  const outcome = await start(made, planOf(spec(tasks, { ...automatic(), inputs: { who: 'me' } })))
  expect(outcome.messages.join('\n')).toContain('compensated: each--0001')
  expect(getFile(made, 'out/x')).toBe('x 0 from first me')
  expect(getFile(made, 'out/y')).toBe('y 1 from first me')
})

test('within a sub-workflow the names are those of the sub-workflow', async () => {
  const made = scene()
  const subworkflows = {
    inner: {
      version: '1',
      inputs: { name: 'n' },
      inputSchema: {},
      outputSchema: {},
      tasks: [
        {
          id: 'w',
          uses: 'action:write',
          with: { path: 'out/${{ inputs.name }}', content: 'done' },
          compensate: {
            uses: 'action:write',
            with: { path: '${{ tasks.w.output.path }}', content: 'undone ${{ inputs.name }}' },
          },
        },
      ],
    },
  }
  const tasks = [{ id: 'call', uses: 'workflow:inner', with: { name: 'inside' } }, broken(['call'])]
  const outcome = await start(made, planOf(spec(tasks, { ...automatic(), subworkflows })))
  expect(order(made, outcome.run)).toEqual(['call--w--compensate'])
  expect(getFile(made, 'out/inside')).toBe('undone inside')
})

test('one that fails ends the chain, says what is left, and a later call undoes just that', async () => {
  const made = scene()
  const blocked = file('b', {
    needs: ['a'],
    compensate: { uses: 'action:write', with: { path: 'blocked/b', content: 'undone' } },
  })
  const plan = planOf(
    spec([file('a'), blocked, file('c', { needs: ['b'] }), broken(['c'])], {
      ...automatic(),
      policy: { writableRoots: ['out', 'blocked'], approval: 'never' },
    }),
  )
  putFile(made, 'blocked/b/is-a-directory', '')
  const outcome = await start(made, plan)
  expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
  expect(statesOf(made, outcome.run)).toMatchObject({
    'c--compensate': 'succeeded',
    'a--compensate': 'cancelled',
  })
  expect(statesOf(made, outcome.run)['b--compensate']).toMatch(/failed|denied/)
  expect(outcome.messages.join('\n')).toMatch(/compensated: c\b/)
  expect(outcome.messages.join('\n')).toMatch(/not compensated: b, a\b.*agentctl compensate/)
  expect(compensated(made, outcome.run)).toEqual(['c'])

  // On another machine: the files of what was undone are restored as well, for nothing there is anybody else's.
  freshWorkspace(made)
  expect(ask(made, outcome.run)).toEqual(['b', 'a'])
  await resume(made, outcome.run)
  expect(order(made, outcome.run)).toEqual(['c--compensate', 'b--compensate-2', 'a--compensate-2'])
  expect(getFile(made, 'out/a')).toBe('a undone')
  expect(getFile(made, 'out/c')).toBe('c undone')
  expect(getFile(made, 'blocked/b')).toBe('undone')
  const after = made.ledger.store.snapshot(outcome.run)
  expect(after === null ? null : compensationsOf(after)).toEqual([])
})

test('approval: the policy asks of each, in one pause; approved they run, on another machine too', async () => {
  const made = scene()
  const tasks = [file('a'), file('b', { needs: ['a'] }), broken(['b'])]
  const plan = planOf(spec(tasks, { ...automatic(), policy: { ...policy, approval: 'mutations' } }))
  let outcome = await start(made, plan)
  while (statesOf(made, outcome.run)['z'] !== 'failed') {
    vote(made, outcome, 'approve')
    outcome = await resume(made, outcome.run)
  }
  expect(outcome).toMatchObject({ state: 'paused', exitCode: 3 })
  expect(outcome.pause?.items.map(({ task }) => task)).toEqual(['b--compensate', 'a--compensate'])
  expect(getFile(made, 'out/b')).toBe('b done')
  vote(made, outcome, 'approve')
  freshWorkspace(made)
  const ended = await resume(made, outcome.run)
  expect(ended).toMatchObject({ state: 'failed', exitCode: 4 })
  expect(getFile(made, 'out/a')).toBe('a undone')
  expect(getFile(made, 'out/b')).toBe('b undone')
  expect(compensated(made, outcome.run)).toEqual(['a', 'b'])
})

test('approval: rejected stops, undoes nothing more and says so', async () => {
  const made = scene()
  const tasks = [file('a'), file('b', { needs: ['a'] }), broken(['b'])]
  const outcome = await start(made, planOf(spec(tasks, automatic('always'))))
  expect(outcome.state).toBe('paused')
  expect(outcome.pause?.items[0]?.reason).toContain('spec.compensation.approval')
  expect(outcome.pause?.items[0]?.decisionTrace.at(-1)).toMatchObject({ rule: 'compensation.approval', subject: 'b' })
  vote(made, outcome, 'reject', ['b--compensate'])
  expect(made.ledger.store.record(outcome.run)?.state).toBe('failed')
  expect(statesOf(made, outcome.run)).toMatchObject({ 'b--compensate': 'denied', 'a--compensate': 'cancelled' })
  expect(getFile(made, 'out/a')).toBe('a done')
  expect(compensated(made, outcome.run)).toEqual([])
})

test('approval: never takes nothing away from what the policy asks', async () => {
  const made = scene()
  const plan = planOf(
    spec([file('a'), broken(['a'])], { ...automatic('never'), policy: { ...policy, approval: 'mutations' } }),
  )
  const first = await start(made, plan)
  vote(made, first, 'approve')
  const second = await resume(made, first.run)
  expect(second.state).toBe('paused')
  expect(second.pause?.items.map(({ task }) => task)).toEqual(['a--compensate'])
})

test('the policy refuses a compensation as it would refuse any effect', async () => {
  const made = scene()
  const outside = { uses: 'action:write', with: { path: 'elsewhere/a', content: 'undone' } }
  const outcome = await start(made, planOf(spec([file('a', { compensate: outside }), broken(['a'])], automatic())))
  expect(outcome.state).toBe('failed')
  expect(statesOf(made, outcome.run)['a--compensate']).toBe('denied')
  expect(getFile(made, 'elsewhere/a')).toBeNull()
  expect(outcome.messages.join('\n')).toContain('not compensated: a')
})

test('budgets count: what is used up starts no compensation', async () => {
  const made = scene()
  const plan = planOf(spec([file('a'), broken(['a'])], { ...automatic(), runtime: { budgets: { maxTasks: 2 } } }))
  const outcome = await start(made, plan)
  expect(outcome.messages.join('\n')).toContain('budget_exceeded')
  expect(getFile(made, 'out/a')).toBe('a done')
})

test('a cancelled run undoes nothing by itself, and can be undone by hand', async () => {
  const made = scene()
  const stop = new AbortController()
  const plan = planOf(spec([file('a'), file('b', { needs: ['a'] })], automatic()))
  const outcome = await start(made, plan, {
    ports: {
      signal: stop.signal,
      report: event => {
        if (event.type === 'task.ended' && event.task === 'a') stop.abort()
      },
    },
  })
  expect(outcome.state).toBe('cancelled')
  expect(getFile(made, 'out/a')).toBe('a done')
  expect(ask(made, outcome.run)).toEqual(['a'])
  expect(await resume(made, outcome.run)).toMatchObject({ state: 'cancelled' })
  expect(getFile(made, 'out/a')).toBe('a undone')
})

test('a run whose tasks all succeeded and whose outputs did not stays failed once it is undone', async () => {
  const made = scene()
  const tasks = [
    file('a', { compensate: { uses: 'action:remember', with: { key: 'k', value: 'now there' } } }),
    { id: 'b', uses: 'action:assign', needs: ['a'], with: {} },
  ]
  const outcome = await start(made, planOf(spec(tasks, { outputs: { late: '${{ memory.k }}' } })))
  expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
  expect(ask(made, outcome.run)).toEqual(['a'])
  expect(await resume(made, outcome.run)).toMatchObject({ state: 'failed', exitCode: 4, outputs: null })
  expect(compensated(made, outcome.run)).toEqual(['a'])
})

test('a secret that only a compensation uses is hidden from the first line on', async () => {
  const made = scene()
  const secret = 'sesame-open-4711'
  const shell = { kind: 'builtin.shell.exec', command: '/bin/true', env: { TOKEN: { env: 'UNDO_TOKEN' } } }
  const tasks = [
    { id: 'say', uses: 'action:assign', with: { word: '${{ vars.one }}${{ vars.two }}' } },
    file('a', { compensate: { uses: 'action:shell' } }),
    broken(['a', 'say']),
  ]
  const plan = planOf(
    spec(tasks, {
      actions: { ...actions, shell },
      vars: { one: 'sesame-', two: 'open-4711' },
      policy: { ...policy, processAllowlist: ['true'], environmentAllowlist: ['UNDO_TOKEN'] },
    }),
  )
  const outcome = await start(made, plan, { ports: { environment: { UNDO_TOKEN: secret } } })
  expect(outcome.state).toBe('failed')
  expect([...made.ledger.store.exportLedger()].join('\n')).not.toContain(secret)
})

/** Three processes that log what they do, outside every workspace, and what undoes them. */
const logging = (log: string, approval: string) => {
  const say = (word: string) => ({
    kind: 'builtin.shell.exec',
    command: '/bin/sh',
    args: ['-c', `printf '%s\\n' ${word} >> '${log}'`],
  })
  const names = ['a', 'b', 'c']
  return planOf({
    policy: { ...policy, processAllowlist: ['sh'], approval: 'never' },
    compensation: { onFailure: 'automatic', approval },
    actions: {
      ...actions,
      ...Object.fromEntries(
        names.flatMap(name => [
          [name, say(name)],
          [`un${name}`, say(`un-${name}`)],
        ]),
      ),
    },
    tasks: [
      ...names.map((name, index) => ({
        id: name,
        uses: `action:${name}`,
        needs: names.slice(0, index),
        compensate: { uses: `action:un${name}` },
      })),
      broken(names),
    ],
  })
}

const lines = (log: string) => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [])

/** The truth of an uncertain effect, by the log. */
function settle(made: Scene, run: string, log: string): number {
  const effects = made.ledger.store.effects(run).filter(({ state }) => state === 'uncertain')
  for (const { effect, task } of effects) {
    const word = task.endsWith('--compensate') ? `un-${task[0]}` : task
    const status = lines(log).includes(word) ? 'applied' : 'not-applied'
    const rest = { reason: 'the log', evidence: { inline: 'log' }, result: null, person } as const
    made.ledger.store.control(
      { run, commands: [{ id: systemIds.uuid(), type: 'effect.reconcile', effect, status, ...rest }] },
      'local:0',
    )
  }
  return effects.length
}

test.each([
  ['before', 'policy'],
  ['after', 'policy'],
  ['before', 'always'],
  ['after', 'always'],
] as const)(
  'death %s each ledger call, approval %s: each is undone once, the last first, whatever happens in between',
  async (when, approval) => {
    let deaths = 0
    let uncertain = 0
    for (let at = 1; ; at += 1) {
      const made = scene()
      const log = path.join(made.directory, 'log')
      appendFileSync(log, '')
      const plan = logging(log, approval)
      const run = systemIds.uuid()
      const { ledger } = dyingLedger(made.ledger, at, when)
      let mortal: Ledger = ledger
      let died = false
      const living = async (act: () => Promise<unknown>) => {
        try {
          await act()
        } catch (error) {
          if (!(error instanceof Killed)) throw error
          died = true
          mortal = made.ledger
        }
      }
      await living(() => start(made, plan, { ports: { ledger: mortal }, run: { run } }))
      if (made.ledger.store.record(run) === null) await start(made, plan, { run: { run } })
      for (let turn = 0; turn < 20; turn += 1) {
        const record = made.ledger.store.record(run)
        if (record?.state === 'failed') break
        if (record?.state === 'uncertain') uncertain += settle(made, run, log)
        const pause = made.ledger.store.pauses(run).find(({ state }) => state === 'open')
        if (pause !== undefined) voteOnPause(made, run, pause, 'approve')
        await living(() => resume(made, run, { ports: { ledger: mortal } }))
      }
      expect(made.ledger.store.record(run)?.state).toBe('failed')
      expect(lines(log)).toEqual(['a', 'b', 'c', 'un-c', 'un-b', 'un-a'])
      expect(compensated(made, run)).toEqual(['a', 'b', 'c'])
      expect(await verifyAudit(made.ledger.store.exportLines())).toMatchObject({ ok: true })
      made.dispose()
      scenes.pop()
      if (!died) break
      deaths += 1
    }
    expect(deaths).toBeGreaterThan(6)
    expect(uncertain).toBeGreaterThan(0)
  },
)

/** What succeeded before people are asked, and what they are asked about. */
const beforeGate = (more: JsonObject = {}) =>
  spec([file('a'), { ...file('gate'), needs: ['a'], uses: 'action:sh', with: {} }, file('late', { needs: ['gate'] })], {
    actions: { ...actions, sh: { kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', 'true'] } },
    policy: { writableRoots: ['out'], processAllowlist: ['sh'], approval: 'high_risk' },
    ...automatic(),
    ...more,
  })

test('automatic after a rejection: the run goes on once more to undo what succeeded, and stays denied', async () => {
  const made = scene()
  const outcome = await start(made, planOf(beforeGate()))
  expect(outcome).toMatchObject({ state: 'paused' })
  vote(made, outcome, 'reject')
  // Something is left to run, so the rejection alone does not end it.
  expect(made.ledger.store.record(outcome.run)).toMatchObject({ state: 'paused', endedAt: null })
  expect(statesOf(made, outcome.run)).toMatchObject({ gate: 'denied', late: 'pending' })
  freshWorkspace(made)
  expect(await resume(made, outcome.run)).toMatchObject({ state: 'denied', exitCode: 3 })
  expect(order(made, outcome.run)).toEqual(['a--compensate'])
  expect(getFile(made, 'out/a')).toBe('a undone')
  expect(getFile(made, 'out/late')).toBeNull()
  expect(statesOf(made, outcome.run)).toMatchObject({ gate: 'denied', late: 'cancelled', 'a--compensate': 'succeeded' })
  expect(await resume(made, outcome.run)).toMatchObject({ state: 'denied', exitCode: 3 })
  expect(order(made, outcome.run)).toEqual(['a--compensate'])
  expect(await verifyAudit(made.ledger.store.exportLines())).toMatchObject({ ok: true })
})

test('automatic after an expiry, too', async () => {
  const made = scene()
  const outcome = await start(made, planOf(beforeGate()))
  const later = new Date(Date.now() + 40 * 86_400_000)
  const ledger = openEmbedded({
    file: path.join(made.directory, 'ledger.db'),
    clock: { ...systemClock, now: () => later },
    ids: systemIds,
  })
  const expire = { id: systemIds.uuid(), type: 'pause.expire', pause: outcome.pause?.pause ?? '' } as const
  ledger.store.control({ run: outcome.run, commands: [expire] }, 'system')
  await ledger.close()
  expect(await resume(made, outcome.run)).toMatchObject({ state: 'denied', exitCode: 3 })
  expect(order(made, outcome.run)).toEqual(['a--compensate'])
})

test.each<[string, JsonObject, 'vote' | 'cancel']>([
  ['a rejection where the document says manual', { compensation: { onFailure: 'manual' } }, 'vote'],
  ['a rejection before which nothing succeeded', { tasks: [{ ...file('gate'), uses: 'action:sh', with: {} }] }, 'vote'],
  ['a cancel, whatever the document says', {}, 'cancel'],
])('%s ends the run at once: nothing is undone without a word', async (_, more, how) => {
  const made = scene()
  const outcome = await start(made, planOf(beforeGate(more)))
  expect(outcome).toMatchObject({ state: 'paused' })
  const cancel = { id: systemIds.uuid(), type: 'run.cancel', person, reason: 'no', via: 'cli' } as const
  if (how === 'vote') vote(made, outcome, 'reject')
  else made.ledger.store.control({ run: outcome.run, commands: [cancel] }, 'local:0')
  const state = how === 'vote' ? 'denied' : 'cancelled'
  expect(made.ledger.store.record(outcome.run)).toMatchObject({ state })
  expect(await resume(made, outcome.run)).toMatchObject({ state })
  expect(order(made, outcome.run)).toEqual([])
})

test('a rejected compensation of an automatic one ends the run: it does not begin again', async () => {
  const made = scene()
  const outcome = await start(made, planOf(spec([file('a'), broken(['a'])], automatic('always'))))
  expect(outcome).toMatchObject({ state: 'paused' })
  vote(made, outcome, 'reject')
  expect(made.ledger.store.record(outcome.run)?.endedAt).not.toBeNull()
  expect(order(made, outcome.run)).toEqual([])
})

test('by itself after a refusal: an undoing that fails leaves the run denied', async () => {
  const made = scene()
  const bad = { uses: 'action:fail' }
  const refused = { id: 'z', uses: 'action:write', needs: ['a'], with: { path: 'elsewhere', content: 'x' } }
  const outcome = await start(made, planOf(spec([file('a', { compensate: bad }), refused], automatic())))
  expect(outcome).toMatchObject({ state: 'denied', exitCode: 3 })
  expect(statesOf(made, outcome.run)['a--compensate']).toBe('failed')
  expect(outcome.messages.join('\n')).toContain('not compensated: a')
  expect(made.ledger.store.record(outcome.run)?.state).toBe('denied')
})
