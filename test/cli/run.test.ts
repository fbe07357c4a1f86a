import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cliAt, createDesk, type Desk, documentOf, envelopeOf, gated, script } from './support.ts'

let desk: Desk
beforeEach(() => {
  desk = createDesk()
})
afterEach(() => desk.dispose())

test('a denied effect exits 3 with its rule, a failing one 4, both at their place', async () => {
  desk.put(
    'denied.yaml',
    documentOf({
      policy: { writableRoots: ['out'], toolsDeny: ['filesystem.write'], approval: 'never' },
      actions: { write: { kind: 'builtin.write' } },
      tasks: [{ id: 'w', uses: 'action:write', with: { path: 'out/x', content: 'x' } }],
    }),
  )
  const denied = await desk.cli('run', 'denied.yaml')
  expect(denied.code).toBe(3)
  expect(denied.stderr).toMatch(/^denied\.yaml:\d+:\d+: error policy_denied: .*toolsDeny/m)
  expect(desk.get('out/x')).toBeNull()

  desk.put('failing.yaml', script('echo said; exit 7'))
  const failing = await desk.cli('run', 'failing.yaml')
  expect(failing.code).toBe(4)
  expect(failing.stderr).toMatch(/script \| said[\s\S]*^failing\.yaml:\d+:\d+: error run_failed/m)
})

test('outputs are answered, and only these stand on stdout', async () => {
  desk.put('out.yaml', script('echo hello', { outputs: { said: '${{ tasks.script.output.stdout }}' } }))
  const { data } = envelopeOf(await desk.cli('run', 'out.yaml', '--output', 'json'))
  expect(data).toMatchObject({ state: 'succeeded', output: { said: 'hello\n' } })
})

test('--check --diff predicts and leaves nothing behind; explain names the five rules', async () => {
  desk.put('gated.yaml', gated)
  const { code, stdout } = await desk.cli('run', 'gated.yaml', '--check', '--diff')
  expect([code, stdout]).toEqual([0, expect.stringContaining('+exactly this')])
  expect(stdout).toContain('gated builtin.write ask (fully predictable)')
  const explained = envelopeOf(await desk.cli('explain', 'gated.yaml', 'gated', '--output', 'json'))
  expect(explained.data.decision.steps.map(({ step }: { step: string }) => step)).toEqual([
    'visible',
    'authorised',
    'resource',
    'risk',
    'approval',
  ])
  expect(readdirSync(desk.directory)).toEqual(['gated.yaml'])
})

test('a signal ends the run, its processes and the command with 130', async () => {
  desk.put('slow.yaml', script('echo $$; exec sleep 60'))
  const { process: child, ended } = desk.start('run', 'slow.yaml')
  const pid = await new Promise<number>(resolve => {
    child.stderr?.on('data', (text: string) => {
      const [, found] = /script \| (\d+)/.exec(text) ?? []
      if (found !== undefined) resolve(Number(found))
    })
  })
  child.kill('SIGTERM')
  expect((await ended).code).toBe(130)
  expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})

test('an effect that nobody saw end is uncertain until it is reconciled', async () => {
  desk.put('marker.yaml', script('echo ready; sleep 2', { outputs: { said: '${{ tasks.script.output.stdout }}' } }))
  const { process: child, ended } = desk.start('run', 'marker.yaml')
  await new Promise<void>(resolve => {
    child.stderr?.on('data', (text: string) => text.includes('ready') && resolve())
  })
  child.kill('SIGKILL')
  await ended
  const db = new DatabaseSync(`${desk.directory}/.agentctl/runtime.db`, { readOnly: true })
  const run = String(db.prepare('SELECT run FROM runs').get()?.['run'])
  db.close()

  const resumed = await desk.cli('resume', run, '--output', 'json')
  expect([resumed.code, envelopeOf(resumed).data.state]).toEqual([4, 'uncertain'])
  const { effects } = envelopeOf(await desk.cli('effects', 'list', run, '--output', 'json')).data
  const [{ effect }] = effects
  expect(effects).toMatchObject([{ state: 'uncertain' }])

  desk.put('seen.txt', 'the log says that it ended')
  desk.put('result.json', JSON.stringify({ status: 'changed', changed: true, exitCode: 0, stdout: 'seen', stderr: '' }))
  const reconcile = ['effects', 'reconcile', effect, '--reason', 'seen', '--evidence-file', 'seen.txt']
  expect((await desk.cli(...reconcile, '--status', 'not-applied', '--result-file', 'result.json')).code).toBe(2)
  expect((await desk.cli(...reconcile, '--status', 'maybe')).code).toBe(2)
  expect((await desk.cli(...reconcile, '--status', 'applied', '--result-file', 'result.json')).code).toBe(0)
  expect((await desk.cli(...reconcile, '--status', 'not-applied')).stderr).toMatch(/conflict/)
  const done = envelopeOf(await desk.cli('resume', run, '--output', 'json'))
  expect(done.data).toMatchObject({ state: 'succeeded', output: { said: 'seen' } })
})

test.each([
  ['an unknown command', ['walk', 'x.yaml']],
  ['a command of a later version', ['replay', 'x']],
  ['no command', []],
  ['a group without its command', ['approvals']],
  ['an unknown option', ['check', 'x.yaml', '--fast']],
  ['a missing operand', ['run']],
  ['one operand too many', ['inspect', 'a', 'b']],
  ['a missing reason', ['approvals', 'approve', 'x']],
  ['a wrong choice', ['check', 'x.yaml', '--color', 'blue']],
  ['--interactive without a terminal', ['run', 'x.yaml', '--interactive']],
  ['--diff alone', ['run', 'x.yaml', '--diff']],
  ['a workspace that is not there', ['run', 'x.yaml', '--workspace', 'nowhere']],
])('%s exits 2 with one envelope', async (_, argv) => {
  desk.put('x.yaml', gated)
  const ended = await cliAt(desk.directory, '2026-01-01T00:00:00.000Z', [...argv, '--output', 'json'])
  expect(ended.code).toBe(2)
  expect(envelopeOf(ended).diagnostics).toHaveLength(1)
  expect(existsSync(`${desk.directory}/.agentctl`)).toBe(false)
})

test.each([
  ['corrupt', 'not_a_database', (file: string) => desk.put(file, 'x'.repeat(10_000)), 'corrupt'],
  ['of a newer version', 'newer', newer, 'newer'],
  ['in a place that cannot be', 'x.yaml/below', () => {}, 'read_only'],
  ['a directory', 'folder', (file: string) => mkdirSync(`${desk.directory}/${file}`), 'read_only'],
])('a ledger that is %s exits 5 with what to do', async (_, file, prepare, code) => {
  desk.put('x.yaml', gated)
  prepare(file)
  const ended = await desk.cli('run', 'x.yaml', '--db', file, '--output', 'json')
  expect([ended.code, envelopeOf(ended).diagnostics[0]?.code]).toEqual([5, code])
  expect(desk.get('out/gated.txt')).toBeNull()
})

test('a ledger that is locked or absent exits 5', async () => {
  desk.put('x.yaml', gated)
  const file = `${desk.directory}/ledger.db`
  const absent = await desk.cli('resume', 'some-run', '--db', 'ledger.db', '--output', 'json')
  expect([absent.code, envelopeOf(absent).diagnostics[0]?.code, existsSync(file)]).toEqual([
    5,
    'ledger_not_found',
    false,
  ])
  expect((await desk.cli('run', 'x.yaml', '--db', 'ledger.db')).code).toBe(3)
  const holder = new DatabaseSync(file)
  holder.exec('BEGIN IMMEDIATE')
  const run = String(holder.prepare('SELECT run FROM runs').get()?.['run'])
  const locked = await desk.cli('cancel', run, '--db', 'ledger.db', '--output', 'json')
  holder.exec('ROLLBACK')
  holder.close()
  expect([locked.code, envelopeOf(locked).diagnostics[0]?.code]).toEqual([5, 'locked'])
})

test('a changed trail is named at its first wrong event', async () => {
  desk.put('x.yaml', gated)
  await desk.cli('run', 'x.yaml')
  const exported = await desk.cli('audit', 'export', '--out', 'trail', '--output', 'json')
  expect(envelopeOf(exported).data).toMatchObject({
    events: expect.any(Number),
    head: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect((await desk.cli('audit', 'export', '--out', 'trail')).code).toBe(2)
  const trail = desk.get('trail') ?? ''
  desk.put('changed', trail.replace('"task":"gated"', '"task":"other"'))
  desk.put('cut', `${trail.trim().split('\n').slice(0, -1).join('\n')}\n`)
  expect((await desk.cli('audit', 'verify', 'trail')).code).toBe(0)
  for (const file of ['changed', 'cut']) {
    const { code, stderr } = await desk.cli('audit', 'verify', file)
    expect([code, stderr]).toEqual([4, expect.stringMatching(/audit_broken: event \d+ of/)])
  }
})

function newer(file: string): void {
  const database = new DatabaseSync(`${desk.directory}/${file}`)
  database.exec('CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID')
  database.exec("INSERT INTO meta VALUES ('version', '999'), ('ledger', 'x')")
  database.close()
}
