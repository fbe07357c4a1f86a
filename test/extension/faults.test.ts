import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { createScene, type Scene } from '../runner/support.ts'
import { codeOf, handshake, print, protocolVersion, putExtension, reply, run, shake, witness } from './support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

/** Repeating would be allowed for anything definite: an uncertain end never is. */
const eager = { action: { idempotency: 'keyed', timeoutSeconds: 20 }, task: { retry: { maxAttempts: 3 } } }

function effectsOf(run: string) {
  return scene.ledger.store.effects(run).map(({ state, error, result }) => ({ state, code: error?.code, result }))
}

const good = { protocolVersion, effectId: 'EFFECT', output: { greeting: 'hi' } }

/** Prints a text in which EFFECT stands for the id. */
function printing(text: string): string {
  return print(text).replace('EFFECT', `'"$effect"'`)
}

const bytes = (escapes: string) => `printf '${escapes}'`
const nested = (levels: number) => `{"greeting":"hi","x":${'['.repeat(levels)}${']'.repeat(levels)}}`
const withOutput = (output: string) =>
  printing(JSON.stringify({ ...good, output: 'OUTPUT' }).replace('"OUTPUT"', () => output))

describe('after dispatch every fault is uncertain, has a code, and is never repeated', () => {
  const cases: [name: string, invoke: string, code: string, action?: JsonObject][] = [
    ['an exit code', 'exit 3', 'non_zero_exit'],
    ['an exit code after a good reply', `${reply()}; exit 1`, 'non_zero_exit'],
    ['a crash', 'kill -SEGV $$', 'signalled'],
    ['a kill after a good reply', `${reply()}; kill -KILL $$`, 'signalled'],
    ['the end of its time', `${reply()}; sleep 30`, 'timed_out', { timeoutSeconds: 1 }],
    ['too much on stdout', `${reply()}; head -c 5000 /dev/zero`, 'output_exceeded', { stdoutLimitBytes: 4096 }],
    ['too much on stderr', `head -c 5000 /dev/zero >&2; ${reply()}`, 'output_exceeded', { stderrLimitBytes: 4096 }],
    ['no reply', 'true', 'reply_malformed'],
    ['only white space', 'echo', 'reply_malformed'],
    ['stdout closed early', 'exec 1>&-; sleep 0.1', 'reply_malformed'],
    ['half a reply', printing(JSON.stringify(good).slice(0, -3)), 'reply_malformed'],
    ['a text behind the reply', `${reply()}; echo done`, 'reply_malformed'],
    ['a second reply', `${reply()}; ${reply()}`, 'reply_malformed'],
    ['a log line before the reply', `echo starting; ${reply()}`, 'reply_malformed'],
    ['a list', printing(JSON.stringify([good])), 'reply_malformed'],
    ['a byte order mark', `${bytes('\\357\\273\\277')}; ${reply()}`, 'reply_malformed'],
    [
      'bytes that are no UTF-8',
      withOutput('{"greeting":"X"}').replace('X', `'; ${bytes('\\377')}; printf '%s' '`),
      'reply_malformed',
    ],
    ['half of a surrogate pair', withOutput('{"greeting":"\\ud800"}'), 'reply_malformed'],
    ['a number that loses digits', withOutput('{"greeting":"hi","x":9007199254740993}'), 'reply_malformed'],
    ['a number without end', withOutput('{"greeting":"hi","x":1e999}'), 'reply_malformed'],
    ['a key called __proto__', withOutput('{"greeting":"hi","__proto__":{"a":1}}'), 'reply_malformed'],
    ['a key twice', withOutput('{"greeting":"hi","greeting":"ho"}'), 'reply_malformed'],
    ['a key twice, once escaped', withOutput('{"greeting":"hi","x":{"a":1,"\\u0061":2}}'), 'reply_malformed'],
    ['deeper nesting than is carried', withOutput(nested(100)), 'reply_malformed'],
    ['nesting that would end a parser', withOutput(nested(50_000)), 'reply_malformed'],
    [
      'another protocolVersion',
      reply({ protocolVersion: 'agentctl.dev/process-extension/v2' }),
      'reply_protocol_version',
    ],
    ['no protocolVersion', printing('{"effectId":"EFFECT","output":{"greeting":"hi"}}'), 'reply_missing_field'],
    ['another effectId', print(JSON.stringify({ ...good, effectId: '0'.repeat(64) })), 'reply_effect_id'],
    ['an effectId that is no text', print(JSON.stringify({ ...good, effectId: 1 })), 'reply_effect_id'],
    ['no effectId', print(JSON.stringify({ protocolVersion, output: good.output })), 'reply_missing_field'],
    ['no output', printing(JSON.stringify({ protocolVersion, effectId: 'EFFECT' })), 'reply_missing_field'],
    ['a field that the protocol has not', reply({ error: 'no' }), 'reply_unknown_field'],
    ['an output that outputSchema refuses', reply({ output: { greeting: 1 } }), 'reply_output'],
    ['no greeting in the output', reply({ output: {} }), 'reply_output'],
  ]
  test.each(cases)('%s', async (_, invoke, code, action) => {
    putExtension(scene, { invoke })
    const outcome = await run(scene, { ...eager, action: { ...eager.action, ...action } })
    expect(outcome).toMatchObject({ state: 'uncertain', exitCode: 4 })
    expect(codeOf(outcome)).toBe(code)
    expect(outcome.messages[0]).toContain('is not known')
    expect(effectsOf(outcome.run)).toMatchObject([{ state: 'uncertain', code }])
    expect([witness(scene, 'shaken').length, witness(scene, 'invoked').length]).toEqual([1, 1])
  })

  test('a reply to a request that was never read', async () => {
    putExtension(scene, { reads: false })
    const text = 'x'.repeat(500_000)
    const outcome = await run(scene, {
      ...eager,
      inputs: { text },
      task: { with: { name: 'a', text: '${{ inputs.text }}' } },
    })
    expect(outcome.state).toBe('uncertain')
    expect(codeOf(outcome)).toBe('reply_effect_id')
  })

  test('what it said on stderr is kept, what it printed is not', async () => {
    putExtension(scene, { invoke: `echo why >&2; ${print('{"secret-looking": 1')}; exit 3` })
    const outcome = await run(scene)
    expect(effectsOf(outcome.run)).toMatchObject([{ result: { exitCode: 3, stderr: 'why\n' } }])
    expect(JSON.stringify(scene.ledger.store.snapshot(outcome.run))).not.toContain('secret-looking')
  })

  test('a mismatch never tells the value', async () => {
    putExtension(scene, { invoke: reply({ output: { greeting: ['classified'] } }) })
    const outcome = await run(scene)
    expect(outcome.messages[0]).toContain('/greeting must be of type string')
    expect(JSON.stringify(scene.ledger.store.snapshot(outcome.run))).not.toContain('classified')
  })
})

describe('a handshake that fails or differs is definite, and nothing is invoked', () => {
  const other = (fields: JsonObject) => print(JSON.stringify({ ...handshake, ...fields }))
  const without = (field: string) =>
    print(JSON.stringify(Object.fromEntries(Object.entries(handshake).filter(([name]) => name !== field))))
  const cases: [name: string, shaking: string, code: string, message: string, action?: JsonObject][] = [
    ['an exit code', `${shake}; exit 1`, 'handshake_non_zero_exit', 'code 1'],
    ['a crash', 'kill -SEGV $$', 'handshake_signalled', 'SIGSEGV'],
    ['the end of its time', 'sleep 30', 'handshake_timed_out', 'longer than', { timeoutSeconds: 1 }],
    ['too much output', 'head -c 5000 /dev/zero', 'handshake_output_exceeded', '4096', { stdoutLimitBytes: 4096 }],
    ['nothing printed', 'true', 'handshake_malformed', 'printed nothing'],
    ['half a message', print('{"name":'), 'handshake_malformed', 'one JSON object'],
    ['a text behind it', `${shake}; echo x`, 'handshake_malformed', 'nothing else'],
    ['another protocolVersion', other({ protocolVersion: 'v2' }), 'handshake_mismatch', '`protocolVersion`'],
    ['another inputSchema', other({ inputSchema: { type: 'object' } }), 'handshake_mismatch', '`inputSchema`'],
    ['another outputSchema', other({ outputSchema: {} }), 'handshake_mismatch', '`outputSchema`'],
    [
      'capabilities in another order',
      other({ capabilities: ['count', 'greet'] }),
      'handshake_mismatch',
      '`capabilities`',
    ],
    ['fewer capabilities', other({ capabilities: ['greet'] }), 'handshake_mismatch', '`capabilities`'],
    ['capabilities that are no list', other({ capabilities: 'greet' }), 'handshake_mismatch', '`capabilities`'],
    ['an empty name', other({ name: '' }), 'handshake_mismatch', '`name`'],
    ['a name that is no text', other({ name: 1 }), 'handshake_mismatch', '`name`'],
    ['no name', without('name'), 'handshake_mismatch', '`name`'],
    ['no capabilities', without('capabilities'), 'handshake_mismatch', '`capabilities`'],
    ['a field that the protocol has not', other({ version: '1' }), 'handshake_mismatch', '`version`'],
  ]
  test.each(cases)('%s', async (_, shaking, code, message, action) => {
    putExtension(scene, { shake: shaking })
    const outcome = await run(scene, { action: { timeoutSeconds: 20, ...action } })
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(codeOf(outcome)).toBe(code)
    expect(outcome.messages[0]).toContain(message)
    expect(outcome.messages[0]).toContain('nothing was invoked')
    expect(effectsOf(outcome.run)).toMatchObject([{ state: 'failed', code }])
    expect(witness(scene, 'invoked')).toEqual([])
  })

  test('the time that it took is missing to the invocation', async () => {
    putExtension(scene, { shake: `sleep 1.5; ${shake}`, invoke: `sleep 1.5; ${reply()}` })
    const outcome = await run(scene, { action: { timeoutSeconds: 2 } })
    expect(outcome.state).toBe('uncertain')
    expect(codeOf(outcome)).toBe('timed_out')
  })

  test('a program that its handshake changed is not started again', async () => {
    putExtension(scene, { shake: `echo '# changed' >> bin/extension; ${shake}` })
    const outcome = await run(scene)
    expect(outcome.state).toBe('failed')
    expect(codeOf(outcome)).toBe('executable_changed')
    expect(witness(scene, 'invoked')).toEqual([])
  })
})

describe('repeating', () => {
  const failsOnce = `if [ "$(wc -l < shaken)" -lt 2 ]; then exit 7; fi; ${shake}`

  test('a definite failure of a keyed extension, under another key', async () => {
    putExtension(scene, { shake: failsOnce, invoke: `echo "$effect" >> keys; ${reply()}` })
    const outcome = await run(scene, eager)
    expect(outcome.state).toBe('succeeded')
    expect(effectsOf(outcome.run)).toMatchObject([
      { state: 'failed', code: 'handshake_non_zero_exit' },
      { state: 'succeeded' },
    ])
    expect(witness(scene, 'invoked')).toHaveLength(1)
  })

  test('never where the extension does not say that it may be', async () => {
    putExtension(scene, { shake: failsOnce })
    const outcome = await run(scene, { task: { retry: { maxAttempts: 3 } } })
    expect(outcome.state).toBe('failed')
    expect(witness(scene, 'shaken')).toHaveLength(1)
  })
})
