import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { builtAction, newJob, runJob } from '../action/job.ts'
import { inProcess, MovedClock } from '../harness/in-process.ts'
import { counted, documentOf, gatedWrite, openStage, type Stage } from './stage.ts'

/** What a job may be given that cannot work: a named error with its exit code, and nothing lost. */
const clock = new MovedClock()
let stage: Stage
let action: Awaited<ReturnType<typeof builtAction>>
let directory: string
beforeAll(async () => {
  action = await builtAction()
  stage = await openStage({ github: { clock }, controlPlane: inProcess(clock) })
  directory = mkdtempSync(join(tmpdir(), 'agentctl-bad-'))
})
afterAll(async () => {
  await stage.close()
  action.remove()
  rmSync(directory, { recursive: true, force: true })
})

const script = (text: string, more: JsonObject = {}): JsonObject => ({
  policy: { writableRoots: ['out'], processAllowlist: ['sh'], approval: 'never' },
  outputs: { said: '${{ tasks.script.output.stdout }}' },
  actions: { script: { kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', text] } },
  tasks: [{ id: 'script', uses: 'action:script' }],
  ...more,
})
const good = documentOf(script('echo a >> "$PWD/witness"; echo b'))

describe('the checkout', () => {
  test.each<[string, string, (path: string) => void, RegExp]>([
    ['a workflow file that is missing', 'x.yaml', () => {}, /unreadable_file: .*x\.yaml cannot be read \(ENOENT\)/],
    ['a directory', 'x.yaml', path => mkdirSync(path), /unreadable_file: x\.yaml is a directory/],
    ['a pipe', 'x.yaml', path => execFileSync('mkfifo', [path]), /unreadable_file: x\.yaml is not a regular file/],
    ['binary', 'x.yaml', path => writeFileSync(path, Buffer.from([0xff, 0xfe, 0x00])), /unreadable_file: .*not UTF-8/],
    ['above 1 MiB', 'x.yaml', path => writeFileSync(path, 'x'.repeat(1_048_577)), /1048577 bytes, more than 1048576/],
    ['a link out of the checkout', 'x.yaml', path => symlinkSync('/etc/passwd', path), /outside_checkout/],
    ['a link to itself', 'x.yaml', path => symlinkSync('x.yaml', path), /unreadable_file: .*ELOOP/],
    ['no YAML', 'x.yaml', path => writeFileSync(path, '{'), /x\.yaml:1:\d+/],
    [
      'a variables file that is a pipe',
      'vars.yaml',
      path => execFileSync('mkfifo', [path]),
      /vars\.yaml is not a regular/,
    ],
  ])('%s: exit 2, named', async (_, name, make, text) => {
    const other = documentOf(script('true', { varsFiles: ['vars.yaml'] }))
    const job = newJob(name === 'x.yaml' ? {} : { 'x.yaml': other }, { workflow: 'x.yaml' })
    make(join(job.workspace, name))
    const end = await runJob(action.entry, job)
    expect(end, end.log).toMatchObject({ exitCode: 2, outputs: { status: 'failed', 'exit-code': '2' } })
    expect(end.log).toMatch(text)
    job.remove()
  })

  test.each<[string, { [input: string]: string }, RegExp]>([
    ['inputs that are no JSON', { inputs: 'a: b' }, /input inputs must be a JSON object/],
    ['inputs that the document does not take', { inputs: '{"absent":1}' }, /absent/],
    [
      'a working directory that is none',
      { 'working-directory': 'x.yaml' },
      /working-directory: x\.yaml is not a directory/,
    ],
    ['a floor that is not there', { floor: 'floor.yaml' }, /input floor: .*floor\.yaml cannot be read/],
  ])('%s: exit 2, named', async (_, inputs, text) => {
    const job = newJob({ 'x.yaml': good }, { workflow: 'x.yaml', ...inputs })
    const end = await runJob(action.entry, job)
    expect(end, end.log).toMatchObject({ exitCode: 2, outputs: { status: 'failed' } })
    expect(end.log).toMatch(text)
    expect(existsSync(join(job.workspace, 'witness'))).toBe(false)
    job.remove()
  })
})

describe('the runner', () => {
  test.each<[string, (root: string) => string]>([
    ['a directory', root => root],
    ['not there', root => join(root, 'absent')],
    ['full', () => '/dev/full'],
  ])('GITHUB_OUTPUT is %s: the run ends as recorded, the step is red with the reason', async (_, place) => {
    const job = newJob({ 'x.yaml': good }, { workflow: 'x.yaml' })
    const { code, log } = await plainly(job.environment, { GITHUB_OUTPUT: place(job.workspace) })
    expect([code, log]).toEqual([5, expect.stringContaining('the outputs could not be written to GITHUB_OUTPUT')])
    expect(log).toContain('script succeeded')
    expect(log).not.toMatch(/^\s+at /m)
    expect(readFileSync(join(job.workspace, 'witness'), 'utf8')).toBe('a\n')
    expect(readFileSync(job.environment['GITHUB_STEP_SUMMARY'] ?? '', 'utf8')).toContain('script')
    job.remove()
  })

  test('a summary that cannot be written is said, and no more', async () => {
    const job = newJob({ 'x.yaml': good }, { workflow: 'x.yaml' })
    const { code, log } = await plainly(job.environment, { GITHUB_STEP_SUMMARY: job.workspace })
    expect([code, log]).toEqual([0, expect.stringContaining('the job summary could not be written')])
    job.remove()
  })

  test('a log that nobody reads any more does not end the run', async () => {
    const job = newJob({ 'x.yaml': good }, { workflow: 'x.yaml' })
    const child = spawn(process.execPath, [action.entry], { env: job.environment, stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    let stderr = ''
    child.stderr.on('data', text => (stderr += text))
    const [code] = await once(child, 'exit')
    expect([code, stderr]).toEqual([0, ''])
    expect(readFileSync(join(job.workspace, 'witness'), 'utf8')).toBe('a\n')
    job.remove()
  })
})

/** The Action with other variables than a job has; outputs are not read. */
async function plainly(environment: { [name: string]: string }, other: { [name: string]: string }) {
  const child = spawn(process.execPath, [action.entry], {
    env: { ...environment, ...other },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (log += text))
  const [code] = await once(child, 'close')
  return { code, log }
}

describe('GitHub', () => {
  test('a run that Dependabot started is refused by name, exit 2', async () => {
    const play = await stage.begin({ spec: gatedWrite })
    const { github } = stage.scene
    const actor = github.users.add({ login: 'dependabot[bot]', type: 'Bot' })
    const run = github.startRun(play.repository, 'gate.yml', { actor, event: 'push' })
    await run.completed()
    expect(run.action()).toMatchObject({ exitCode: 2, outputs: { status: 'failed' } })
    expect(run.action().log).toContain('dependabot: a run that Dependabot started gets no OIDC token')
    expect(run.action().log).toContain("if: github.actor != 'dependabot[bot]'")
  })

  test('approvers whom the floor does not have leave nobody: exit 2, nothing is asked', async () => {
    const floor = JSON.stringify({
      apiVersion: 'agentctl.dev/v1',
      kind: 'SecurityFloor',
      metadata: { name: 'repository' },
      spec: { approvers: { users: ['alice'] } },
    })
    const play = await stage.begin({
      spec: gatedWrite,
      files: { '.github/agentctl/floor.yaml': floor },
      with: { approvers: 'bob' },
    })
    expect(play.step().exitCode, play.step().log).toBe(2)
    expect(play.step().log).toMatch(/approvers/)
    expect(play.issues()).toEqual([])
  })
})

describe('the control plane’s ledger', () => {
  test.each<[string, string, (file: string) => void]>([
    ['is damaged', 'corrupt', file => writeFileSync(file, 'x'.repeat(20_000))],
    [
      'was written by a later version',
      'newer',
      file => {
        const database = new DatabaseSync(file)
        database.exec('PRAGMA journal_mode = WAL')
        database.exec('CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID')
        database.exec("INSERT INTO meta VALUES ('version', '999'), ('ledger', 'x')")
        database.close()
      },
    ],
  ])('%s: exit 5 at once, named, left as it is; others go on', async (_, code, damage) => {
    const id = ++repositories
    const file = join(stage.scene.controlPlane.data, `${id}.sqlite`)
    damage(file)
    const before = readFileSync(file)
    const play = await stage.begin({ spec: gatedWrite, repository: { id } })
    expect(play.step(), play.step().log).toMatchObject({ exitCode: 5, outputs: { status: 'failed' } })
    expect(play.step().log).toContain(code)
    expect(readFileSync(file).equals(before)).toBe(true)
    const other = await stage.begin({ spec: gatedWrite })
    expect(other.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused' } })
  })
})
let repositories = 7_000_000

test('a lease token that ran out while an effect ran: exit 5 with what to do, the result is printed and reconciles', async () => {
  const [witness, go] = [join(directory, 'witness'), join(directory, 'go')]
  const text = `echo ran >> '${witness}'; while [ ! -e '${go}' ]; do sleep 0.05; done; echo said`
  const play = await stage.begin({ spec: script(text), complete: false })
  while (!existsSync(witness)) await new Promise(done => setTimeout(done, 20))
  clock.advance(2 * 3_600_000)
  writeFileSync(go, '')
  await play.handle.completed()
  const { log } = play.step()
  expect(play.step().exitCode, log).toBe(5)
  expect(log).toMatch(/lease token .*re-run the job/)
  const [, effect] = /agentctl effects reconcile ([0-9a-f]{64})/.exec(log) ?? []
  const [result = 'null'] = /\{"changed":true.*\}/.exec(log) ?? []

  await play.again()
  expect(play.step()).toMatchObject({ exitCode: 4, outputs: { status: 'uncertain' } })
  const word = { status: 'applied', reason: 'as printed', evidence: { attempt: 1 }, result: JSON.parse(result) }
  expect((await play.ask(`/effects/${effect}/reconciliation`, { login: 'bob', body: word })).status).toBe(200)
  await play.again()
  expect(play.step()).toMatchObject({ exitCode: 0, outputs: { outputs: '{"said":"said\\n"}' } })
  expect(readFileSync(witness, 'utf8')).toBe('ran\n')
  expect(counted(await play.events())).toMatchObject({ 'effect.started': 1, 'effect.reconciled': 1, 'run.created': 1 })
})
