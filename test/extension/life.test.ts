import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { itemSection } from '../../policy/approval/issue-item.ts'
import type { ProgressEvent } from '../../runner/index.ts'
import { createScene, resume, type Scene, start, vote } from '../runner/support.ts'
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

describe('no code of an extension runs before its approval', () => {
  const asks = { policy: { approval: 'always' } }

  test('the approval shows program, input, protocol and capabilities; then it runs once', async () => {
    putExtension(scene)
    const paused = await run(scene, asks)
    expect(paused).toMatchObject({ state: 'paused', exitCode: 3 })
    expect(witness(scene, 'shaken')).toEqual([])
    const [item] = paused.pause?.items ?? []
    expect(item).toMatchObject({
      tool: 'process.exec',
      capability: 'greet',
      input: { command: './bin/extension', with: { name: 'world' } },
      expectedEffect: { kind: 'process', command: './bin/extension', extension: { protocolVersion, capabilities } },
    })
    const shown = item === undefined ? '' : itemSection(item, 'https://example.dev', false)
    expect(shown).toContain(`- Extension: protocol \`${protocolVersion}\`, capabilities \`greet\`, \`count\``)
    expect(shown).toContain('"name": "world"')

    vote(scene, paused, 'approve')
    const outcome = await resume(scene, paused.run)
    expect(outcome).toMatchObject({ state: 'succeeded', outputs: { result: { greeting: 'hi' } } })
    expect([witness(scene, 'shaken').length, witness(scene, 'invoked').length]).toEqual([1, 1])
  })

  test('a program that was changed since is asked about again, and has still not run', async () => {
    putExtension(scene)
    const paused = await run(scene, asks)
    vote(scene, paused, 'approve')
    putExtension(scene, { invoke: reply({ output: { greeting: 'other' } }) })
    const again = await resume(scene, paused.run)
    expect(again).toMatchObject({ state: 'paused' })
    expect(again.pause?.items[0]?.reason).toContain('executable_changed')
    expect(witness(scene, 'shaken')).toEqual([])
  })

  test('a rejection leaves it untouched', async () => {
    putExtension(scene)
    const paused = await run(scene, asks)
    vote(scene, paused, 'reject')
    expect(await resume(scene, paused.run)).toMatchObject({ state: 'denied' })
    expect(witness(scene, 'shaken')).toEqual([])
  })
})

/** Runs the extension and cancels at the first output that says so. */
function cancelledAt(word: string) {
  const stop = new AbortController()
  const report = (event: ProgressEvent) => {
    scene.events.push(event)
    if (event.type === 'output' && event.text.includes(word)) stop.abort(new Error('told to stop'))
  }
  return start(scene, extensionPlan(), { ports: { signal: stop.signal, report } })
}

/** Whether a process still runs; one that is only not yet waited for counts as gone. */
function lives(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

async function expectGone(pids: number[]): Promise<void> {
  expect(pids.length).toBeGreaterThan(0)
  for (const end = Date.now() + 5_000; pids.some(lives) && Date.now() < end; ) await sleep(20)
  expect(pids.filter(lives)).toEqual([])
}

function effectState(run: string): string | undefined {
  return scene.ledger.store.effects(run)[0]?.state
}

describe('cancelling', () => {
  test('during the handshake: nothing was invoked, so it is cancelled', async () => {
    putExtension(scene, { shake: 'echo shaking >&2; sleep 60' })
    const outcome = await cancelledAt('shaking')
    expect(outcome).toMatchObject({ state: 'cancelled', exitCode: 130 })
    expect(effectState(outcome.run)).toBe('cancelled')
    expect(witness(scene, 'invoked')).toEqual([])
    await expectGone(witness(scene, 'shaken'))
  })

  test('after the handshake and before the invocation: the same', async () => {
    // Its own process has ended when the one that it leaves behind speaks.
    putExtension(scene, { shake: `(sleep 0.2; echo between >&2; sleep 60) & ${shake}` })
    const outcome = await cancelledAt('between')
    expect(outcome).toMatchObject({ state: 'cancelled', exitCode: 130 })
    expect(effectState(outcome.run)).toBe('cancelled')
    expect(witness(scene, 'invoked')).toEqual([])
  })

  test('during the invocation: uncertain, and the whole tree is gone', async () => {
    putExtension(scene, { invoke: '(echo $$ >> invoked; exec sleep 60) & echo working >&2; sleep 60' })
    const outcome = await cancelledAt('working')
    expect(outcome).toMatchObject({ state: 'uncertain', exitCode: 130 })
    expect(codeOf(outcome)).toBe('cancelled')
    expect(effectState(outcome.run)).toBe('uncertain')
    await expectGone([...witness(scene, 'shaken'), ...witness(scene, 'invoked')])
  })

  test('at the end of its time nothing of it is left', async () => {
    putExtension(scene, { invoke: '(echo $$ >> invoked; exec sleep 60) & sleep 60' })
    expect(await run(scene, { action: { timeoutSeconds: 1 } })).toMatchObject({ state: 'uncertain' })
    await expectGone([...witness(scene, 'shaken'), ...witness(scene, 'invoked')])
  })
})

describe('a task outputSchema', () => {
  test('lets an output that satisfies it pass', async () => {
    putExtension(scene)
    expect(await run(scene, { task: { outputSchema: { required: ['greeting'] } } })).toMatchObject({
      state: 'succeeded',
    })
  })

  test('fails the task of any kind definitely; its effect stands and is not repeated', async () => {
    putExtension(scene)
    const outcome = await run(scene, {
      action: { idempotency: 'keyed' },
      task: { outputSchema: { properties: { greeting: { const: 'hello' } } }, retry: { maxAttempts: 3 } },
    })
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(codeOf(outcome)).toBe('output_schema')
    expect(outcome.messages[0]).toContain('/greeting must be "hello"')
    expect(effectState(outcome.run)).toBe('succeeded')
    expect(witness(scene, 'invoked')).toHaveLength(1)
    expect(await resume(scene, outcome.run).catch(() => null)).toMatchObject({ state: 'failed' })
    expect(witness(scene, 'invoked')).toHaveLength(1)
  })
})
