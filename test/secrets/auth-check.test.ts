import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { documentOf, envelopeOf } from '../cli/support.ts'
import { type BuiltCli, buildCli } from '../process-policy/built-cli.ts'

/** `agentctl auth check` as it is shipped: what it tells, what it exits with, and what it never does. */
let built: BuiltCli
let directory: string
beforeAll(async () => {
  built = await buildCli()
})
afterAll(() => built.remove())
beforeEach(() => {
  // Not below /tmp, where no program is trusted.
  const cache = path.join(userInfo().homedir, '.cache')
  mkdirSync(cache, { recursive: true })
  directory = mkdtempSync(path.join(cache, 'agentctl-auth-'))
  mkdirSync(at('secrets'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const at = (name: string) => path.join(directory, name)
const environment = { SET: 'value-of-the-variable', EMPTY: '' }

async function check(spec: object, ...form: string[]) {
  writeFileSync(at('flow.yaml'), documentOf(spec))
  const ended = await built.run(directory, { HOME: directory, ...environment }, ['auth', 'check', 'flow.yaml', ...form])
  for (const secret of [environment.SET, 'value-of-the-file']) {
    expect(ended.stdout).not.toContain(secret)
    expect(ended.stderr).not.toContain(secret)
  }
  return ended
}

/** Exit code, and status and rule, of one variable's reference. */
async function one(reference: JsonObject, policy: JsonObject = {}): Promise<[number | null, string, string]> {
  const ended = await check(
    {
      policy: {
        environmentAllowlist: ['V', 'SET', 'EMPTY', 'ABSENT'],
        secretFileRoots: ['secrets'],
        secretProcessAllowlist: ['sh', 'absent', 'ask'],
        writableRoots: ['out'],
        ...policy,
      },
      actions: { tool: { kind: 'builtin.shell.exec', command: 'true', env: { V: reference } } },
      tasks: [{ id: 'tool', uses: 'action:tool' }],
    },
    '--output',
    'json',
  )
  const { data, diagnostics } = envelopeOf(ended)
  const [secret] = data.secrets
  expect(secret).toMatchObject({ path: 'spec.actions.tool.env.V', use: 'variable' })
  expect(secret.status === 'available' || secret.remedy !== '').toBe(true)
  expect(diagnostics.map(({ code }) => code)).toEqual(secret.status === 'available' ? [] : [secret.rule])
  return [ended.code, secret.status, secret.rule]
}

const sh = (script: string) => ({ process: { command: '/bin/sh', args: ['-c', script] } })

test('a variable', async () => {
  expect(await one({ env: 'SET' })).toEqual([0, 'available', ''])
  expect(await one({ env: 'ABSENT' })).toEqual([4, 'missing', 'missing_variable'])
  expect(await one({ env: 'EMPTY' })).toEqual([4, 'missing', 'empty_variable'])
  expect(await one({ env: 'SET' }, { environmentAllowlist: ['V'] })).toEqual([3, 'refused', 'environmentAllowlist'])
  expect(await one({ env: 'SET' }, { environmentAllowlist: ['SET'] })).toEqual([3, 'refused', 'environmentAllowlist'])
})

test('a file, of which nothing is read', async () => {
  writeFileSync(at('secrets/token'), 'value-of-the-file')
  writeFileSync(at('secrets/large'), 'x'.repeat(65_537))
  writeFileSync(at('secrets/empty'), '')
  writeFileSync(at('elsewhere'), 'value-of-the-file')
  symlinkSync('../elsewhere', at('secrets/link'))
  execFileSync('mkfifo', [at('secrets/fifo')])
  expect(await one({ file: 'secrets/token' })).toEqual([0, 'available', ''])
  expect(await one({ file: 'secrets/absent' })).toEqual([4, 'missing', 'not_found'])
  expect(await one({ file: 'secrets/empty' })).toEqual([4, 'missing', 'empty_secret'])
  expect(await one({ file: 'secrets/large' })).toEqual([3, 'refused', 'secret_too_large'])
  expect(await one({ file: 'secrets/fifo' })).toEqual([3, 'refused', 'not_regular'])
  expect(await one({ file: 'secrets' })).toEqual([3, 'refused', 'is_directory'])
  for (const file of ['elsewhere', 'secrets/link', 'absent'])
    expect(await one({ file })).toEqual([3, 'refused', 'secretFileRoots'])
})

test('that a file was not read is seen by its time of access', async () => {
  const file = at('secrets/token')
  writeFileSync(file, 'value-of-the-file')
  execFileSync('touch', ['-a', '-d', '2001-01-01', file])
  const before = execFileSync('stat', ['-c', '%X', file]).toString()
  expect(await one({ file: 'secrets/token' })).toEqual([0, 'available', ''])
  expect(execFileSync('stat', ['-c', '%X', file]).toString()).toBe(before)
})

test('a helper, which is not run', async () => {
  const touch = `touch ${at('ran')}; echo long-enough`
  expect(await one(sh(touch))).toEqual([0, 'available', ''])
  expect(await one({ process: { command: 'absent' } })).toEqual([4, 'missing', 'command_not_found'])
  expect(await one({ process: { command: '/usr/bin/other' } })).toEqual([3, 'refused', 'secretProcessAllowlist'])
  mkdirSync(at('out'))
  writeFileSync(at('out/ask'), `#!/bin/sh\n${touch}\n`)
  expect(await one({ process: { command: './out/ask' } })).toEqual([3, 'refused', 'command_not_executable'])
  chmodSync(at('out/ask'), 0o755)
  expect(await one({ process: { command: './out/ask' } })).toEqual([3, 'refused', 'untrusted_program'])
  expect(existsSync(at('ran'))).toBe(false)
})

test('all of a document, used or not, with their places; a refusal weighs more than what is missing', async () => {
  const spec = {
    policy: {
      environmentAllowlist: ['HEADER'],
      network: { customCa: { file: 'ca.pem' } },
      secretFileRoots: ['secrets'],
    },
    providers: { main: { kind: 'openai', credential: { env: 'SET' }, headers: { 'x-team': { env: 'HEADER' } } } },
    mcpServers: { tools: { url: 'https://mcp.example.dev', headers: { authorization: { env: 'SET' } } } },
    a2aPeers: { peer: { cardUrl: 'https://a2a.example.dev', headers: { authorization: { env: 'HEADER' } } } },
    actions: { assign: { kind: 'builtin.assign' } },
    tasks: [{ id: 'a', uses: 'action:assign', with: { value: 1 } }],
  }
  const ended = await check(spec, '--output', 'json')
  expect(ended.code).toBe(3)
  const { data, diagnostics } = envelopeOf(ended)
  expect(data.available).toBe(false)
  expect(
    data.secrets.map((secret: JsonObject) => [secret['path'], secret['use'], secret['status'], secret['rule']]),
  ).toEqual([
    ['spec.policy.network.customCa', 'customCa', 'refused', 'secretFileRoots'],
    ['spec.providers.main.credential', 'credential', 'available', ''],
    ['spec.providers.main.headers.x-team', 'header', 'missing', 'missing_variable'],
    ['spec.mcpServers.tools.headers.authorization', 'header', 'refused', 'environmentAllowlist'],
    ['spec.a2aPeers.peer.headers.authorization', 'header', 'missing', 'missing_variable'],
  ])
  expect(diagnostics.every(({ file, line }) => file === 'flow.yaml' && line > 1)).toBe(true)

  const human = await check(spec)
  expect(human.code).toBe(3)
  expect(human.stdout).toMatch(/^available {2}spec\.providers\.main\.credential {2}\{env: SET\}$/m)
  expect(human.stdout + human.stderr).toMatch(/flow\.yaml:\d+:\d+.*missing_variable/)
})

test('a document without secrets, and one that is none', async () => {
  const spec = {
    actions: { a: { kind: 'builtin.assign' } },
    tasks: [{ id: 'a', uses: 'action:a', with: { value: 1 } }],
  }
  const ended = await check(spec)
  expect([ended.code, ended.stdout]).toEqual([0, 'flow.yaml refers to no secret\n'])
  expect((await check({ ...spec, policy: { secretFileRoots: ['..'] } })).code).toBe(2)
  expect((await check({ ...spec, packs: [{ name: 'p', version: '1', source: { path: 'absent' } }] })).code).toBe(2)
})
