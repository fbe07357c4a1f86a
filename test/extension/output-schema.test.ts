import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Ledger, LedgerError } from '../../ledger/port.ts'
import type { JsonObject } from '../../policy/json.ts'
import { createScene, getFile, planOf, putFile, resume, type Scene, start, statesOf } from '../runner/support.ts'
import { codeOf } from './support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const policy = { approval: 'never', writableRoots: ['out'], processAllowlist: ['sh'], environmentAllowlist: ['TOKEN'] }

function plan(action: JsonObject, task: JsonObject = {}, inputs: JsonObject = {}) {
  return planOf(
    {
      inputs,
      policy,
      memory: { working: { k: 1 } },
      actions: { a: action },
      tasks: [{ id: 't', uses: 'action:a', ...task }],
    },
    inputs,
  )
}

const never = { not: {} }
const kinds: [kind: string, action: JsonObject, input: JsonObject][] = [
  ['a pure one', { kind: 'builtin.assign' }, { x: 1 }],
  ['a read', { kind: 'builtin.read' }, { path: 'file' }],
  ['a write', { kind: 'builtin.write' }, { path: 'out/x', content: 'c' }],
  ['a write of what is there', { kind: 'builtin.write' }, { path: 'out/there', content: 'c' }],
  ['memory', { kind: 'builtin.memory.write' }, { key: 'k', value: 2 }],
  ['a process', { kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', 'true'] }, {}],
]

describe.each(kinds)('the output of %s', (_, action, input) => {
  beforeEach(() => {
    putFile(scene, 'file', 'text')
    putFile(scene, 'out/there', 'c')
  })

  test.each([
    ['its task', action, { outputSchema: never }],
    ['its action', { ...action, outputSchema: never }, {}],
  ])('is held to the schema of %s', async (_, declared, task) => {
    const outcome = await start(scene, plan(declared, { with: input, ...task, retry: { maxAttempts: 3 } }))
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(codeOf(outcome)).toBe('output_schema')
    expect(statesOf(scene, outcome.run)).toEqual({ t: 'failed' })
    expect(scene.ledger.store.snapshot(outcome.run)?.memory).toEqual({ k: 1 })
    expect(scene.ledger.store.effects(outcome.run).length).toBeLessThanOrEqual(1)
  })

  test('passes where it satisfies it', async () => {
    const outcome = await start(scene, plan(action, { with: input, outputSchema: { type: 'object' } }))
    expect(outcome.state).toBe('succeeded')
  })
})

test('what a skipped task gives is no output of its own', async () => {
  const outcome = await start(
    scene,
    plan({ kind: 'builtin.assign' }, { when: 'inputs.no', outputSchema: never }, { no: false }),
  )
  expect(outcome.state).toBe('succeeded')
  expect(statesOf(scene, outcome.run)).toEqual({ t: 'skipped' })
})

test('it is the recorded output that is checked: a secret in it is hidden before', async () => {
  const action = {
    kind: 'builtin.shell.exec',
    command: '/bin/sh',
    args: ['-c', 'printf %s "$TOKEN"'],
    env: { TOKEN: { env: 'TOKEN' } },
  }
  const outcome = await start(
    scene,
    plan(action, { outputSchema: { properties: { stdout: { pattern: '^classified' } } } }),
    {
      ports: { environment: { TOKEN: 'classified-word' } },
    },
  )
  expect(codeOf(outcome)).toBe('output_schema')
  expect(outcome.messages.join()).not.toContain('classified-word')
})

test('a resumed run comes to the same end from the recorded result', async () => {
  const write = (name: string) => ({ id: name, uses: 'action:a', with: { path: `out/${name}`, content: 'c' } })
  const two = planOf({
    policy,
    runtime: { maxConcurrency: 2 },
    actions: { a: { kind: 'builtin.write' } },
    tasks: [{ ...write('x'), outputSchema: never }, write('y')],
  })
  const dies: Ledger = {
    apply: async batch => {
      if (batch.commands.some(command => command.type === 'task.move' && command.to === 'failed'))
        throw new LedgerError('conflict', 'this process ends before its moves')
      return scene.ledger.apply(batch)
    },
    snapshot: run => scene.ledger.snapshot(run),
    putBlob: bytes => scene.ledger.putBlob(bytes),
    getBlob: sha256 => scene.ledger.getBlob(sha256),
    close: async () => {},
  }
  const { run, exitCode } = await start(scene, two, { ports: { ledger: dies } })
  expect(exitCode).toBe(5)
  expect(statesOf(scene, run)).toEqual({ x: 'running', y: 'running' })
  const resumed = await resume(scene, run)
  expect(resumed.state).toBe('failed')
  expect(codeOf(resumed)).toBe('output_schema')
  expect(statesOf(scene, run)).toEqual({ x: 'failed', y: 'succeeded' })
  expect(getFile(scene, 'out/x')).toBe('c')
})

test('the input of any kind is held to inputSchema before anything is requested', async () => {
  const action = { kind: 'builtin.write', inputSchema: { properties: { content: { maxLength: 3 } } } }
  const input = { path: 'out/x', content: '${{ inputs.text }}' }
  const outcome = await start(scene, plan(action, { with: input }, { text: 'too long' }))
  expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
  expect(codeOf(outcome)).toBe('invalid_input')
  expect(outcome.messages[0]).toContain('/content must have at most 3 characters')
  expect(scene.ledger.store.effects(outcome.run)).toEqual([])
  expect(getFile(scene, 'out/x')).toBeNull()
})
