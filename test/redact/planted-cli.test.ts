import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { documentOf, type Ended, envelopeOf } from '../cli/support.ts'
import { type BuiltCli, buildCli } from '../process-policy/built-cli.ts'
import { expectClean, expectCleanFiles, gatedFiles, gatedLeaking, leaking, secrets } from './planted.ts'

/** Case 34 at the terminal: a job's secrets are planted everywhere, and every surface of every command is searched. */
let built: BuiltCli
let directory: string
let workspace: string
beforeAll(async () => {
  built = await buildCli()
})
afterAll(() => built.remove())
beforeEach(() => {
  // Not below /tmp, where no program is trusted. Its name is one of the secrets.
  const cache = path.join(userInfo().homedir, '.cache')
  mkdirSync(cache, { recursive: true })
  directory = mkdtempSync(path.join(cache, 'agentctl-redact-'))
  workspace = path.join(directory, secrets.PLACE)
  mkdirSync(path.join(workspace, 'out'), { recursive: true })
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const environment = () => ({ HOME: directory, ...secrets })

async function cli(...argv: string[]): Promise<Ended> {
  const ended = await built.run(workspace, environment(), argv)
  expectClean(`stdout of ${argv[0]}`, ended.stdout)
  expectClean(`stderr of ${argv[0]}`, ended.stderr)
  return ended
}

/** Every command that shows a run, in both forms. */
async function showAll(run: string): Promise<string> {
  const shown: string[] = []
  for (const command of [
    ['inspect', run],
    ['approvals', 'list', run],
    ['approvals', 'list'],
    ['effects', 'list', run],
    ['audit', 'show', run],
    ['audit', 'export', run],
  ]) {
    shown.push((await cli(...command)).stdout)
    if (command[1] !== 'export') shown.push((await cli(...command, '--output', 'json')).stdout)
  }
  return shown.join('\n')
}

function put(spec: JsonObject): void {
  writeFileSync(path.join(workspace, 'flow.yaml'), documentOf(spec))
}

const cleanLedger = () => expect(expectCleanFiles(path.join(workspace, '.agentctl')).length).toBeGreaterThan(0)

test.each([
  ['for people', []],
  ['as JSON', ['--output', 'json']],
])('case 34: a run that leaks in every way, %s', async (_, form) => {
  put(leaking)
  for (const command of [
    ['run', 'flow.yaml', '--check', '--diff'],
    ['plan', 'flow.yaml'],
    ['check', 'flow.yaml'],
    ['explain', 'flow.yaml', 'print'],
  ])
    await cli(...command, ...form)
  const ended = await cli('run', 'flow.yaml', ...form)
  expect(ended.code, ended.stderr).toBe(4)
  const shown = ended.stdout + ended.stderr
  for (const code of ['non_zero_exit', 'signalled', 'secret_in_artifact', 'command_not_found', 'assertion'])
    expect(shown).toContain(code)
  // Something was shown, and it is what was hidden.
  expect(shown).toContain('***')
  const run = form.length === 0 ? (/run (\S+) /.exec(ended.stdout)?.[1] ?? '') : envelopeOf(ended).data.runId
  expect(await showAll(run)).toContain('***')
  cleanLedger()
})

test('case 34: approvals with diffs, programs and files of secret names; a digest under the key `token` stays one', async () => {
  put(gatedLeaking)
  for (const [name, content] of Object.entries(gatedFiles)) writeFileSync(path.join(workspace, name), content)
  chmodSync(path.join(workspace, 'tool'), 0o755)
  for (const command of [
    ['run', 'flow.yaml', '--check', '--diff'],
    ['explain', 'flow.yaml', 'tool'],
    ['explain', 'flow.yaml', 'write'],
  ]) {
    await cli(...command)
    await cli(...command, '--output', 'json')
  }
  const paused = envelopeOf(await cli('run', 'flow.yaml', '--output', 'json'))
  const { runId, approvals } = paused.data
  expect(approvals).toHaveLength(3)
  expect(approvals[0].expectedEffect.diff).toContain('***')
  expect(approvals[1].expectedEffect).toMatchObject({
    realPath: expect.stringContaining('***'),
    argvFiles: { token: expect.stringMatching(/^[0-9a-f]{64}$/) },
  })
  const shown = await showAll(runId)
  expect(shown).toContain('***')
  for (const { id } of approvals) expect((await cli('approvals', 'approve', id, '--reason', 'seen')).code).toBe(0)
  const resumed = await cli('resume', runId)
  expect(resumed.code, resumed.stderr).toBe(0)
  await showAll(runId)
  cleanLedger()
})

test('case 34: an input that holds a secret is refused by name, and nothing of it is kept', async () => {
  put({ ...leaking, inputs: { note: 'none' } })
  const ended = await cli('run', 'flow.yaml', '--input', `note=see ${secrets.PLACE}`)
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain('secret_in_input: note')
  cleanLedger()
})

test.each([
  [
    'a workspace root that is not there',
    { policy: { ...(leaking['policy'] as JsonObject), workspaceRoot: secrets.PLACE } },
  ],
  ['an output that cannot be had', { outputs: { none: '${{ tasks.print.output.absent }}' } }],
])('case 34: a failure beside the tasks: %s', async (_, change) => {
  const { tasks } = leaking as { tasks: JsonObject[] }
  put({ ...leaking, ...change, tasks: tasks.slice(0, 1) })
  const ended = await built.run(workspace, environment(), ['run', 'flow.yaml'])
  expect(ended.code).not.toBe(0)
  expectClean('stderr', ended.stderr)
  expectClean('stdout', ended.stdout)
})
