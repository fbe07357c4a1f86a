import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { predictRun } from '../../runner/index.ts'
import { createScene, getFile, portsOf, type Scene } from '../runner/support.ts'
import {
  capabilities,
  codeOf,
  extensionPlan,
  protocolVersion,
  putExtension,
  reply,
  run,
  shake,
  witness,
} from './support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

describe('an extension', () => {
  test('shakes hands, then reads its request from stdin and gives its output', async () => {
    putExtension(scene, { invoke: `printf '%s' "$request" > request; printf '%s' "$1,$2" > argv; ${reply()}` })
    const outcome = await run(scene, { action: { args: ['one'] } })
    expect(outcome).toMatchObject({ state: 'succeeded', exitCode: 0, outputs: { result: { greeting: 'hi' } } })
    expect([witness(scene, 'shaken').length, witness(scene, 'invoked').length]).toEqual([1, 1])
    const [effect] = scene.ledger.store.effects(outcome.run)
    expect(JSON.parse(getFile(scene, 'request') ?? '')).toEqual({
      protocolVersion,
      effectId: effect?.effect,
      input: { name: 'world' },
    })
    expect(getFile(scene, 'argv')).toBe('one,--agentctl-invoke')
    expect(effect).toMatchObject({ state: 'succeeded', operation: 'extension.process', result: { greeting: 'hi' } })
    expect(effect?.enforcement).toMatchObject({ containment: expect.stringMatching(/^(cgroup|best-effort)$/) })
  })

  test('gets an empty stdin for its handshake, and only the variables that were declared', async () => {
    putExtension(scene, {
      invoke: `env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= > variables; ${reply()}`,
      shake: `cat > handshake-stdin; ${shake}`,
    })
    const outcome = await run(scene, {
      action: { env: { GREETING: { env: 'GREETING' } } },
      policy: { environmentAllowlist: ['GREETING'] },
      ports: { environment: { GREETING: 'good morning', OTHER: 'x' } },
    })
    expect(outcome.state).toBe('succeeded')
    expect(getFile(scene, 'handshake-stdin')).toBe('')
    expect(getFile(scene, 'variables')).toBe('GREETING=good morning\n')
  })

  test('takes 1 MiB of input', async () => {
    putExtension(scene, { invoke: `printf '%s' "$request" | wc -c | tr -d ' \\n' > size; ${reply()}` })
    const text = 'x'.repeat(1_048_576)
    const outcome = await run(scene, { inputs: { text }, task: { with: { name: 'a', text: '${{ inputs.text }}' } } })
    expect(outcome.state).toBe('succeeded')
    expect(Number(getFile(scene, 'size'))).toBeGreaterThan(1_048_576)
  })

  test('spends of the output budget what both its processes print, protocol and stderr', async () => {
    putExtension(scene, { invoke: `echo note >&2; ${reply()}` })
    const printed = async (limit: number) => {
      const outcome = await run(scene, { runtime: { budgets: { maxProcessOutputBytes: limit } } })
      const [effect] = scene.ledger.store.effects(outcome.run)
      return { state: outcome.state, bytes: Number(effect?.enforcement?.['printedBytes']) }
    }
    const free = await printed(1_000_000)
    expect(free.state).toBe('succeeded')
    expect(free.bytes).toBeGreaterThan(200)
    // The effect's id in the reply has one length: the next run prints as much.
    expect(await printed(free.bytes)).toEqual(free)
    expect((await printed(free.bytes - 1)).state).toBe('uncertain')
  })

  test('keeps the files that its artifacts name', async () => {
    putExtension(scene, { invoke: `mkdir -p out; echo made > out/made.txt; ${reply()}` })
    const outcome = await run(scene, { action: { artifacts: ['out/*'] } })
    expect(scene.ledger.store.effects(outcome.run)[0]?.artifacts).toMatchObject([
      { path: 'out/made.txt', before: null },
    ])
  })

  test('shows what it says on stderr, redacted, and nothing of its protocol', async () => {
    const secret = 'correct-horse-battery'
    putExtension(scene, {
      shake: `echo shaking >&2; ${shake}`,
      invoke: `echo "with $TOKEN" >&2; ${reply({ output: { greeting: 'SECRET' } }).replace('SECRET', `'"$TOKEN"'`)}`,
    })
    const outcome = await run(scene, {
      action: { env: { TOKEN: { env: 'TOKEN' } } },
      policy: { environmentAllowlist: ['TOKEN'] },
      ports: { environment: { TOKEN: secret } },
    })
    expect(outcome).toMatchObject({ state: 'succeeded', outputs: { result: { greeting: '***' } } })
    const shown = scene.events.flatMap(event => (event.type === 'output' ? [`${event.stream}: ${event.text}`] : []))
    expect(shown.join('')).toContain('stderr: shaking\n')
    expect(shown.join('')).toContain('with ***')
    expect(shown.join('')).not.toContain('stdout')
    expect(JSON.stringify(scene.ledger.store.snapshot(outcome.run))).not.toContain(secret)
    expect(readFileSync(path.join(scene.directory, 'ledger.db'), 'latin1')).not.toContain(secret)
  })
})

describe('nothing runs', () => {
  test.each<[name: string, input: JsonObject, place: string]>([
    ['an input of the wrong shape', { name: '${{ inputs.name }}' }, '/name'],
    ['an input with a field too many', { name: 'a', other: '${{ inputs.name }}' }, '/other'],
  ])('for %s', async (_, input, place) => {
    putExtension(scene)
    const outcome = await run(scene, { inputs: { name: 'NOT LOWER' }, task: { with: input } })
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(codeOf(outcome)).toBe('invalid_input')
    expect(outcome.messages[0]).toContain(`: ${place} `)
    expect(outcome.messages[0]).not.toContain('NOT LOWER')
    expect(scene.ledger.store.effects(outcome.run)).toEqual([])
    expect(witness(scene, 'shaken')).toEqual([])
  })

  test('when a run is only predicted', async () => {
    putExtension(scene)
    const { tasks } = await predictRun(portsOf(scene), extensionPlan())
    expect(tasks).toMatchObject([{ outcome: 'run', expected: { extension: { protocolVersion, capabilities } } }])
    expect(witness(scene, 'shaken')).toEqual([])
  })

  test('when the policy does not list the program', async () => {
    putExtension(scene)
    expect(await run(scene, { policy: { processAllowlist: ['other'] } })).toMatchObject({
      state: 'denied',
      exitCode: 3,
    })
    expect(witness(scene, 'shaken')).toEqual([])
  })
})
