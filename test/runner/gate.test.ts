import { chmodSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { verifyAudit } from '../../ledger/index.ts'
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
  write,
} from './support.ts'

const scenes: Scene[] = []
function scene(files = {}): Scene {
  const made = createScene(files)
  scenes.push(made)
  return made
}
afterEach(() => {
  for (const made of scenes.splice(0)) made.dispose()
})

const gated = { writableRoots: ['out'], approval: 'mutations' }
const assign = { kind: 'builtin.assign' }
const one = {
  policy: gated,
  actions: { write },
  tasks: [{ id: 'gated', uses: 'action:write', with: { path: 'out/approved.txt', content: 'approval was durable' } }],
}

describe('a gated write', () => {
  test('pauses, is approved, and runs once in a new workspace', async () => {
    const here = scene()
    const paused = await start(here, planOf(one))
    expect(paused).toMatchObject({ state: 'paused', exitCode: 3 })
    expect(paused.pause?.items).toMatchObject([
      {
        task: 'gated',
        number: 1,
        expectedEffect: { kind: 'write', path: 'out/approved.txt', beforeSha256: null, bytes: 20 },
        resolution: null,
      },
    ])
    expect(paused.pause?.items[0]?.expectedEffect).toHaveProperty(
      'diff',
      expect.stringContaining('+approval was durable'),
    )
    expect(getFile(here, 'out/approved.txt')).toBeNull()

    const again = await resume(here, paused.run)
    expect(again).toMatchObject({ state: 'paused', exitCode: 3, pause: { pause: paused.pause?.pause } })

    vote(here, paused, 'approve')
    freshWorkspace(here)
    const done = await resume(here, paused.run)
    expect(done).toMatchObject({ state: 'succeeded', exitCode: 0 })
    expect(getFile(here, 'out/approved.txt')).toBe('approval was durable')

    freshWorkspace(here)
    expect(await resume(here, paused.run)).toMatchObject({ state: 'succeeded', exitCode: 0, head: done.head })
    expect(getFile(here, 'out/approved.txt')).toBeNull()
    expect(await verifyAudit(here.ledger.store.exportLines())).toMatchObject({ ok: true })
  })

  test('rejected: never written, exit 3, also the next time', async () => {
    const here = scene()
    const paused = await start(here, planOf(one))
    vote(here, paused, 'reject')
    for (const _ of [1, 2]) {
      expect(await resume(here, paused.run)).toMatchObject({ state: 'denied', exitCode: 3 })
      expect(getFile(here, 'out/approved.txt')).toBeNull()
    }
    expect(statesOf(here, paused.run)).toEqual({ gated: 'denied' })
  })

  test('rejected with `failure: continue`: the others go on, the run still ends denied', async () => {
    const here = scene()
    const plan = planOf({
      policy: gated,
      actions: { write, assign },
      tasks: [
        { id: 'no', uses: 'action:write', failure: 'continue', with: { path: 'out/no', content: 'n' } },
        { id: 'yes', uses: 'action:write', with: { path: 'out/yes', content: 'y' } },
        { id: 'after-no', uses: 'action:assign', needs: ['no'], with: {} },
        { id: 'after-yes', uses: 'action:assign', needs: ['yes'], with: {} },
      ],
    })
    const paused = await start(here, plan)
    vote(here, paused, 'reject', ['no'])
    vote(here, paused, 'approve', ['yes'])
    expect(await resume(here, paused.run)).toMatchObject({ state: 'denied', exitCode: 3 })
    expect(statesOf(here, paused.run)).toEqual({
      no: 'denied',
      yes: 'succeeded',
      'after-no': 'cancelled',
      'after-yes': 'succeeded',
    })
    expect([getFile(here, 'out/no'), getFile(here, 'out/yes')]).toEqual([null, 'y'])
  })

  test('a policy denial is final: denied, exit 3, nothing written, its reason recorded', async () => {
    const here = scene()
    const outcome = await start(here, planOf({ ...one, policy: { ...gated, toolsDeny: ['filesystem.write'] } }))
    expect(outcome).toMatchObject({ state: 'denied', exitCode: 3, pause: null })
    expect(outcome.messages.join()).toContain('toolsDeny')
    expect(here.ledger.store.effects(outcome.run)).toMatchObject([{ state: 'denied', denial: 'policy' }])
    expect(getFile(here, 'out/approved.txt')).toBeNull()
  })
})

describe('everything runnable first, then one pause with what can be known', () => {
  test('look-ahead offers what is known; what depends on output or on files still to be touched is asked later', async () => {
    const here = scene({ 'notes.txt': 'read me' })
    const plan = planOf({
      policy: { ...gated, processAllowlist: ['true'] },
      actions: {
        write,
        assign,
        read: { kind: 'builtin.read' },
        tool: { kind: 'builtin.shell.exec', command: '/usr/bin/true' },
        tool2: { kind: 'builtin.shell.exec', command: '/usr/bin/true', args: ['notes.txt'] },
      },
      tasks: [
        { id: 'first', uses: 'action:write', with: { path: 'out/1', content: 'one' } },
        { id: 'free', uses: 'action:assign', with: { value: 'known' } },
        {
          id: 'second',
          uses: 'action:write',
          needs: ['first', 'free'],
          with: { path: 'out/2', content: '${{ tasks.free.output.output.value }}' },
        },
        { id: 'same', uses: 'action:write', needs: ['first'], with: { path: 'out/1', content: 'again' } },
        {
          id: 'unknown',
          uses: 'action:write',
          needs: ['first'],
          with: { path: 'out/3', content: '${{ tasks.first.output.diff }}' },
        },
        { id: 'tool', uses: 'action:tool', needs: ['second'] },
        { id: 'late', uses: 'action:write', needs: ['tool'], with: { path: 'out/4', content: 'four' } },
        { id: 'names', uses: 'action:tool2', needs: ['tool'] },
      ],
    })
    const paused = await start(here, plan)
    expect(paused.pause?.items.map(({ task }) => task)).toEqual(['first', 'second', 'tool'])
    expect(paused.pause?.later).toEqual(['same', 'unknown', 'late', 'names'])
    expect(statesOf(here, paused.run)).toMatchObject({ first: 'waiting', free: 'succeeded', second: 'pending' })

    vote(here, paused, 'approve')
    freshWorkspace(here, { 'notes.txt': 'read me' })
    const second = await resume(here, paused.run)
    expect(second).toMatchObject({ state: 'paused' })
    expect(second.pause?.items.map(({ task }) => task)).toEqual(['same', 'unknown', 'late', 'names'])
    expect([getFile(here, 'out/1'), getFile(here, 'out/2')]).toEqual(['one', 'known'])

    vote(here, second, 'approve')
    freshWorkspace(here, { 'notes.txt': 'read me' })
    expect(await resume(here, paused.run)).toMatchObject({ state: 'succeeded' })
    expect(['1', '2', '4'].map(name => getFile(here, `out/${name}`))).toEqual(['again', 'known', 'four'])
    const states = here.ledger.store.effects(paused.run).map(({ state }) => state)
    expect(new Set(states)).toEqual(new Set(['succeeded']))
  })

  test('approval `always` asks for pure and memory effects too', async () => {
    const here = scene()
    const plan = planOf({
      policy: { approval: 'always' },
      actions: { assign, remember: { kind: 'builtin.memory.write' } },
      tasks: [
        { id: 'pure', uses: 'action:assign', with: { a: 1 } },
        { id: 'memory', uses: 'action:remember', with: { key: 'k', value: 2 } },
      ],
    })
    const paused = await start(here, plan)
    expect(paused.pause?.items.map(({ task }) => task)).toEqual(['pure', 'memory'])
    vote(here, paused, 'approve')
    expect(await resume(here, paused.run)).toMatchObject({ state: 'succeeded' })
    expect(here.ledger.store.snapshot(paused.run)?.memory).toEqual({ k: 2 })
  })

  test.each([
    ['deny_approval', 'nonInteractive.deny_approval'],
    ['fail', 'nonInteractive.fail'],
  ])('nonInteractive %s denies instead of pausing', async (nonInteractive, rule) => {
    const here = scene()
    const outcome = await start(here, planOf({ ...one, policy: { ...gated, nonInteractive } }))
    expect(outcome).toMatchObject({ state: 'denied', exitCode: 3, pause: null })
    expect(outcome.messages.join()).toContain(rule)
  })
})

describe('an approval holds for what was shown', () => {
  const script = '#!/bin/sh\necho ran > out/ran\n'
  const process = {
    policy: { ...gated, processAllowlist: ['tool.sh', 'sh'], environmentAllowlist: ['TOKEN'] },
    actions: {
      tool: {
        kind: 'builtin.shell.exec',
        command: '/bin/sh',
        args: ['scripts/tool.sh'],
        env: { TOKEN: { env: 'TOKEN' } },
        artifacts: ['out/**'],
      },
      write,
    },
    tasks: [{ id: 'tool', uses: 'action:tool' }],
  }
  const environment = { TOKEN: 'first-secret' }
  const shellOf = (action: object) => ({
    policy: { ...gated, processAllowlist: ['sh'] },
    actions: { tool: { kind: 'builtin.shell.exec', command: 'sh', ...action } },
    tasks: [{ id: 'tool', uses: 'action:tool' }],
  })

  const changes: [name: string, change: (here: Scene) => void, env: { [name: string]: string }][] = [
    ['argv_files_changed', here => putFile(here, 'scripts/tool.sh', `${script}# more\n`), environment],
    ['environment_changed', () => {}, { TOKEN: 'second-secret' }],
  ]
  test.each(changes)('%s: asked again by name, and runs once approved', async (name, change, changed) => {
    const files = { 'scripts/tool.sh': script, 'out/keep': '' }
    const here = scene(files)
    const paused = await start(here, planOf(process), { ports: { environment } })
    vote(here, paused, 'approve')
    freshWorkspace(here, files)
    change(here)
    const again = await resume(here, paused.run, { ports: { environment: changed } })
    expect(again).toMatchObject({ state: 'paused', exitCode: 3 })
    expect(again.pause?.pause).not.toBe(paused.pause?.pause)
    expect(again.pause?.items[0]?.reason).toContain(name)
    expect(getFile(here, 'out/ran')).toBeNull()

    vote(here, again, 'approve')
    const done = await resume(here, paused.run, { ports: { environment: changed } })
    expect(done).toMatchObject({ state: 'succeeded' })
    expect(getFile(here, 'out/ran')).toBe('ran\n')
  })

  test('argv_files_changed, also of a file that is called `__proto__`', async () => {
    const here = scene({ ['__proto__']: 'echo shown\n', 'out/keep': '' })
    const paused = await start(here, planOf(shellOf({ args: ['__proto__'] })))
    vote(here, paused, 'approve')
    putFile(here, '__proto__', 'echo other\n')
    expect((await resume(here, paused.run)).pause?.items[0]?.reason).toContain('argv_files_changed')
  })

  test('cwd_changed: the directory that was shown is another one now', async () => {
    const here = scene({ 'shown/keep': '', 'other/keep': '' })
    const link = path.join(here.workspace, 'here')
    symlinkSync('shown', link)
    const paused = await start(here, planOf(shellOf({ args: ['-c', 'pwd'], cwd: 'here' })))
    vote(here, paused, 'approve')
    rmSync(link)
    symlinkSync('other', link)
    const again = await resume(here, paused.run)
    expect(again).toMatchObject({ state: 'paused', exitCode: 3 })
    expect(again.pause?.items[0]?.reason).toContain('cwd_changed')
    vote(here, again, 'approve')
    expect(await resume(here, paused.run)).toMatchObject({ state: 'succeeded' })
  })

  test('executable_changed: a program put in place of the approved one', async () => {
    const here = scene()
    const program = (text: string) => chmodSync(putFile(here, 'bin/tool', `#!/bin/sh\necho ${text}\n`), 0o755)
    program('one')
    const exact = `${here.workspace}/bin/tool`
    const plan = planOf({
      policy: { ...gated, processAllowlist: [exact] },
      actions: { tool: { kind: 'builtin.shell.exec', command: exact } },
      outputs: { said: '${{ tasks.tool.output.stdout }}' },
      tasks: [{ id: 'tool', uses: 'action:tool' }],
    })
    const paused = await start(here, plan)
    vote(here, paused, 'approve')
    program('two')
    const again = await resume(here, paused.run)
    expect(again.pause?.items[0]?.reason).toContain('executable_changed')
    vote(here, again, 'approve')
    expect(await resume(here, paused.run)).toMatchObject({ state: 'succeeded', outputs: { said: 'two\n' } })
  })

  test('replaced_file_changed: the file to be replaced is another one', async () => {
    const here = scene({ 'out/approved.txt': 'before' })
    const paused = await start(here, planOf(one))
    vote(here, paused, 'approve')
    freshWorkspace(here, { 'out/approved.txt': 'somebody was here' })
    const again = await resume(here, paused.run)
    expect(again.pause?.items[0]?.reason).toContain('replaced_file_changed')
    expect(getFile(here, 'out/approved.txt')).toBe('somebody was here')
  })
})

describe('resume refuses another state of the world', () => {
  const commit = { sha: 'a'.repeat(40), head: 'b'.repeat(40) }
  test.each([
    ['document', { workflowDigest: 'c'.repeat(64), commit }, 'c'.repeat(64)],
    ['sha', { commit: { ...commit, sha: 'd'.repeat(40) } }, 'd'.repeat(40)],
    ['head', { commit: { ...commit, head: null } }, 'none'],
  ])('another %s: exit 2, both named, and the right one still resumes', async (_, changed, named) => {
    const here = scene()
    const paused = await start(here, planOf(one), { run: { commit } })
    vote(here, paused, 'approve')
    const refused = await resume(here, paused.run, { run: changed })
    expect(refused.exitCode).toBe(2)
    expect(refused.messages.join()).toContain(named)
    expect(refused.messages.join()).toMatch(/the run was started on/)
    expect(getFile(here, 'out/approved.txt')).toBeNull()
    const plan = planOf(one)
    expect(await resume(here, paused.run, { run: { commit, workflowDigest: plan.workflowDigest } })).toMatchObject({
      state: 'succeeded',
    })
  })

  test("a workspace with somebody else's content: workspace_diverged, exit 4, nothing overwritten", async () => {
    const here = scene({ 'out/a': 'original' })
    const plan = planOf({
      policy: { writableRoots: ['out'], approval: 'high_risk', processAllowlist: ['true'] },
      actions: { write, tool: { kind: 'builtin.shell.exec', command: 'true' } },
      tasks: [
        { id: 'a', uses: 'action:write', with: { path: 'out/a', content: 'ours' } },
        { id: 'b', uses: 'action:write', with: { path: 'out/b', content: 'ours too' } },
        { id: 'tool', uses: 'action:tool', needs: ['a', 'b'] },
      ],
    })
    const paused = await start(here, plan)
    vote(here, paused, 'approve')
    freshWorkspace(here, { 'out/a': 'theirs' })
    const refused = await resume(here, paused.run)
    expect(refused.exitCode).toBe(4)
    expect(refused.messages.join()).toContain('workspace_diverged')
    expect([getFile(here, 'out/a'), getFile(here, 'out/b')]).toEqual(['theirs', null])

    freshWorkspace(here, { 'out/a': 'original' })
    expect(await resume(here, paused.run)).toMatchObject({ state: 'succeeded' })
    expect([getFile(here, 'out/a'), getFile(here, 'out/b')]).toEqual(['ours', 'ours too'])
  })
})

test('an effect that a failed parent confirmed asks again, whatever the policy says', async () => {
  const here = scene()
  const plan = planOf({
    policy: { approval: 'never', processAllowlist: ['true'] },
    actions: { tool: { kind: 'builtin.shell.exec', command: 'true' } },
    tasks: [{ id: 'tool', uses: 'action:tool' }],
  })
  const first = await start(here, plan)
  expect(first.state).toBe('succeeded')
  const [effect] = here.ledger.store.effects(first.run)
  if (effect === undefined) throw new Error('no effect')
  const confirmed = [{ ...effect, at: '2026-01-01T00:00:00Z' }]
  const second = await start(here, plan, { run: { parent: { run: first.run, confirmed } } })
  expect(second).toMatchObject({ state: 'paused' })
  expect(second.pause?.items[0]?.reason).toContain(effect.effect)
  vote(here, second, 'approve')
  expect(await resume(here, second.run)).toMatchObject({ state: 'succeeded' })
})
