import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { documentOf, type Ended, envelopeOf } from '../cli/support.ts'
import { type BuiltCli, buildCli } from '../process-policy/built-cli.ts'
import { expectClean, expectCleanFiles, gatedWithoutProgram, leaking, secrets } from '../redact/planted.ts'

/** The search of test/redact/planted-cli, for values that no variable of the job holds. */
let built: BuiltCli
let workspace: string
beforeAll(async () => {
  built = await buildCli()
})
afterAll(() => built.remove())
beforeEach(() => {
  const cache = path.join(userInfo().homedir, '.cache')
  mkdirSync(cache, { recursive: true })
  workspace = mkdtempSync(path.join(cache, 'agentctl-planted-'))
  mkdirSync(path.join(workspace, 'out'))
  mkdirSync(path.join(workspace, 'vault'))
  for (const [name, value] of Object.entries(secrets)) writeFileSync(path.join(workspace, 'vault', name), `${value}\n`)
})
afterEach(() => rmSync(workspace, { recursive: true, force: true }))

const sources = {
  file: (name: string) => ({ file: `vault/${name}` }),
  helper: (name: string) => ({ process: { command: '/bin/cat', args: [`vault/${name}`] } }),
}

/** The document with its variables read from somewhere else. */
function readFrom(spec: JsonObject, source: (name: string) => JsonObject): string {
  const moved = JSON.parse(JSON.stringify(spec), (key, value: unknown) =>
    key === 'env' ? { KEY: source('KEY'), PLACE: source('PLACE') } : value,
  ) as JsonObject
  const policy = { ...(spec['policy'] as JsonObject), secretFileRoots: ['vault'], secretProcessAllowlist: ['cat'] }
  return documentOf({ ...moved, policy })
}

async function cli(...argv: string[]): Promise<Ended> {
  const ended = await built.run(workspace, { HOME: workspace }, argv)
  expectClean(`stdout of ${argv[0]}`, ended.stdout)
  expectClean(`stderr of ${argv[0]}`, ended.stderr)
  return ended
}

async function showAll(run: string): Promise<string> {
  let shown = ''
  for (const command of [
    ['inspect', run],
    ['approvals', 'list', run, '--output', 'json'],
    ['effects', 'list', run, '--output', 'json'],
    ['audit', 'export', run],
  ])
    shown += (await cli(...command)).stdout
  return shown
}

const cleanLedger = () => expect(expectCleanFiles(path.join(workspace, '.agentctl')).length).toBeGreaterThan(0)
const put = (text: string) => writeFileSync(path.join(workspace, 'flow.yaml'), text)

test.each(['file', 'helper'] as const)('case 34: a run that leaks values of a %s in every way', async source => {
  put(readFrom(leaking, sources[source]))
  for (const command of [
    ['run', 'flow.yaml', '--check', '--diff'],
    ['explain', 'flow.yaml', 'print'],
    ['auth', 'check', 'flow.yaml'],
  ])
    await cli(...command)
  const ended = await cli('run', 'flow.yaml')
  expect(ended.code, ended.stderr).toBe(4)
  const shown = ended.stdout + ended.stderr
  for (const code of ['non_zero_exit', 'signalled', 'secret_in_artifact', 'assertion']) expect(shown).toContain(code)
  expect(shown).toContain('***')
  expect(await showAll(/run (\S+) /.exec(ended.stdout)?.[1] ?? '')).toContain('***')
  cleanLedger()
})

test.each(['file', 'helper'] as const)('case 34: approvals of effects that get values of a %s', async source => {
  put(readFrom(gatedWithoutProgram, sources[source]))
  // Of a helper's value nothing is known at the pause: a file that holds it would be shown.
  if (source === 'file')
    writeFileSync(path.join(workspace, 'out/file'), `before\n${secrets.KEY}\nplace ${secrets.PLACE}\n`)
  const paused = envelopeOf(await cli('run', 'flow.yaml', '--output', 'json'))
  const { runId, approvals } = paused.data
  expect(approvals).toHaveLength(2)
  await showAll(runId)
  for (const { id } of approvals) expect((await cli('approvals', 'approve', id, '--reason', 'seen')).code).toBe(0)
  const resumed = await cli('resume', runId)
  expect(resumed.code, resumed.stderr).toBe(0)
  expect(await showAll(runId)).toContain('***')
  cleanLedger()
})
