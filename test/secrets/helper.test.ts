import { existsSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { codeOf, effectOf, resultOf } from '../process-policy/tool.ts'
import { createScene, getFile, planOf, putFile, type Scene, start } from '../runner/support.ts'
import { expectNowhere, expectRefused, give, hexOf, value } from './secret.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const helper = (script: string, more: JsonObject = {}): JsonObject => ({
  process: { command: '/bin/sh', args: ['-c', script], ...more },
})
const allowed = (...secretProcessAllowlist: string[]) => ({ policy: { secretProcessAllowlist } })

describe('a secret helper gives its value', () => {
  test.each([
    ['as it is', `printf %s ${value}`, value],
    ['without one line end at its end', `echo ${value}`, value],
    ['without the last of two line ends alone', `printf '%s\\n\\n' ${value}`, `${value}\n`],
    ['whatever it says on stderr', `echo noise-on-stderr >&2; echo ${value}`, value],
  ])('%s', async (_, script, given) => {
    const outcome = await give(scene, helper(script), allowed('sh'))
    expect(outcome, outcome.messages.join()).toMatchObject({ state: 'succeeded' })
    expect(resultOf(outcome)['stdout']).toBe(hexOf(given))
  })

  test('run in the workspace root, with an empty environment, nothing to read, its own session', async () => {
    const script = 'echo "$(pwd)|$(env | grep -v -e ^PWD= -e ^_= -e ^SHLVL=)|$(cat)|$(ls /proc/self/fd | tr "\\n" " ")"'
    const outcome = await give(scene, helper(script), allowed('sh'))
    const seen = Buffer.from(String(resultOf(outcome)['stdout']), 'hex').toString()
    // 4 is the listing's own.
    expect(seen).toBe(`${scene.workspace}|||0 1 2 3 4 `)
  })

  test('the program and what it is asked are bound, its value is not', async () => {
    putFile(scene, 'tools/ask', '#!/bin/sh\ncat "$1"\n', 0o755)
    putFile(scene, 'given', value)
    const reference = { process: { command: './tools/ask', args: ['given'] } }
    const outcome = await give(scene, reference, allowed('ask'))
    expect(resultOf(outcome)['stdout']).toBe(hexOf(value))
    const digest = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(effectOf(scene, outcome).binding).toMatchObject({
      secret_helpers: {
        V: {
          helper: './tools/ask',
          executable: { path: path.join(scene.workspace, 'tools/ask'), sha256: digest },
          interpreter: [{ path: expect.stringMatching(/^\/(usr\/)?bin\//), sha256: digest }],
          argv_files: { given: digest },
        },
      },
    })
    expect(effectOf(scene, outcome).input).not.toEqual(expect.stringContaining(value))
  })
})

describe('a helper that gives no value fails the effect by name, before anything of it runs', () => {
  const leak = 'printf leaked-by-helper; printf leaked-on-stderr >&2'
  test.each([
    ['exit code 3', `${leak}; exit 3`, {}, 'secret_helper_failed', 'exited with code 3'],
    ['a signal', `${leak}; kill -9 $$`, {}, 'secret_helper_failed', 'ended by SIGKILL'],
    ['time', `${leak}; exec sleep 30`, { timeoutSeconds: 1 }, 'secret_helper_timed_out', 'longer than 1 s'],
    ['output', `${leak}`, { outputLimitBytes: 15 }, 'secret_helper_output_exceeded', 'more than 15 bytes (std'],
    [
      'stderr',
      'printf leaked-on-stderr >&2; echo ok-value',
      { outputLimitBytes: 15 },
      'secret_helper_output_exceeded',
      '(stderr)',
    ],
    ['no UTF-8', 'printf "leaked-by-helper\\377"', {}, 'secret_not_utf8', 'is not UTF-8'],
    ['nothing', ':', {}, 'empty_secret', 'is empty'],
    ['a line end', 'echo', {}, 'empty_secret', 'is empty'],
    ['three characters', 'echo abc', {}, 'secret_refused', 'fewer than 4'],
    ['a NUL byte', 'printf "leaked-by-helper\\0x"', {}, 'secret_holds_nul', 'NUL byte'],
  ])('%s', async (_, script, more, code, message) => {
    const reference = helper(script, more)
    const outcome = await give(scene, reference, { policy: { secretProcessAllowlist: ['sh'], writableRoots: ['.'] } })
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    const [told = ''] = outcome.messages
    expect(told).toContain(message)
    expect(told).toContain('the secret helper "/bin/sh"')
    expect(told).not.toMatch(/leaked-(by|on)/)
    const { error, result } = effectOf(scene, outcome)
    expect([error?.code, result]).toEqual([code, null])
    // Scripts stand in the document, and so in the record: what they print together does not.
    expectNowhere(scene.directory, 'leaked-by-helperleaked-on-stderr')
  })

  test('at its limit it passes', async () => {
    const outcome = await give(scene, helper('printf 123456789012345', { outputLimitBytes: 15 }), allowed('sh'))
    expect(resultOf(outcome)['stdout']).toBe(hexOf('123456789012345'))
  })

  test('its whole tree is ended with it', async () => {
    const script = '(sleep 61.5 &) ; exec sleep 61.5'
    const outcome = await give(scene, helper(script, { timeoutSeconds: 1 }), allowed('sh'))
    expect(codeOf(outcome)).toBe('secret_helper_timed_out')
    expect(effectOf(scene, outcome).enforcement).toMatchObject({ left: [], printedBytes: 0 })
  })
})

describe('a helper is refused by name, and not run', () => {
  const touching = (command: string) => ({ process: { command, args: ['-c', 'touch ran; echo long-enough'] } })

  test('not on the list, which is not that of other programs', async () => {
    const settings = { policy: { processAllowlist: ['sh'], secretProcessAllowlist: ['/usr/bin/other'] } }
    const reason = expectRefused(scene, await give(scene, touching('/bin/sh'), settings), 'secretProcessAllowlist')
    expect(reason).toMatch(/add `sh` in spec\.policy\.secretProcessAllowlist/)
    expect(getFile(scene, 'ran')).toBeNull()
  })

  test('an entry of its list allows nothing else', async () => {
    const settings = { policy: { processAllowlist: ['other'], secretProcessAllowlist: ['sh'] } }
    expect(await give(scene, touching('/bin/sh'), settings)).toMatchObject({ state: 'denied' })
    expect(getFile(scene, 'ran')).toBeNull()
  })

  test('in a writable root, through a link that lies there, in a directory that others may write', async () => {
    const settings = { policy: { secretProcessAllowlist: ['ask', 'link'], writableRoots: ['out'] } }
    putFile(scene, 'out/ask', '#!/bin/sh\ntouch ran\n', 0o755)
    putFile(scene, 'ask', '#!/bin/sh\ntouch ran\n', 0o755)
    symlinkSync('../ask', path.join(scene.workspace, 'out/link'))
    for (const command of ['./out/ask', './out/link'])
      expectRefused(scene, await give(scene, { process: { command } }, settings), 'untrusted_program')
    expect(getFile(scene, 'ran')).toBeNull()
  })

  test('an exact entry allows the file wherever it lies', async () => {
    const place = putFile(scene, 'out/ask', '#!/bin/sh\necho long-enough\n', 0o755)
    const settings = { policy: { secretProcessAllowlist: [place], writableRoots: ['out'] } }
    expect(resultOf(await give(scene, { process: { command: './out/ask' } }, settings))['stdout']).toBe(
      hexOf('long-enough'),
    )
  })

  test.each([
    ['agentctl-no-such-helper', 'command_not_found'],
    ['/usr/bin', 'command_is_directory'],
    ['./plain', 'command_not_executable'],
    ['./odd', 'bad_interpreter'],
  ])('%s: %s', async (command, rule) => {
    putFile(scene, 'plain', 'echo')
    putFile(scene, 'odd', '#!relative\n', 0o755)
    expectRefused(scene, await give(scene, { process: { command } }, allowed(path.basename(command))), rule)
  })

  test('for PATH: which programs would run must be known before', async () => {
    const plan = planOf({
      policy: {
        approval: 'never',
        processAllowlist: ['sh'],
        secretProcessAllowlist: ['sh'],
        environmentAllowlist: ['PATH'],
      },
      actions: { tool: { kind: 'builtin.shell.exec', command: '/bin/sh', env: { PATH: touching('/bin/sh') } } },
      tasks: [{ id: 'tool', uses: 'action:tool' }],
    })
    const denied = await start(scene, plan)
    expect(effectOf(scene, denied).decision.steps.at(-1)).toMatchObject({ rule: 'helper_for_path', subject: 'PATH' })
    expect(existsSync(path.join(scene.workspace, 'ran'))).toBe(false)
  })
})
