import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  capabilities,
  inputSchema,
  outputSchema,
  protocolVersion,
  putExtension,
  reply,
  shake,
} from '../extension/support.ts'
import { effectOf } from '../process-policy/tool.ts'
import { createScene, getFile, planOf, type Scene, start } from '../runner/support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

test('both processes of an extension get a helper’s value, and the helper is asked once before either', async () => {
  putExtension(scene, {
    shake: `printf '%s\\n' "$V" >> given; ${shake}`,
    invoke: `printf '%s\\n' "$V" >> given; echo "says $V" >&2; ${reply()}`,
  })
  const helper = {
    process: { command: '/bin/sh', args: ['-c', '[ ! -e shaken ] || exit 9; echo asked >> asked; echo helped-value'] },
  }
  const plan = planOf({
    policy: {
      approval: 'never',
      processAllowlist: ['extension'],
      secretProcessAllowlist: ['sh'],
      environmentAllowlist: ['V'],
    },
    actions: {
      greet: {
        kind: 'extension.process',
        command: './bin/extension',
        protocolVersion,
        inputSchema,
        outputSchema,
        capabilities,
        env: { V: helper },
      },
    },
    tasks: [{ id: 'greet', uses: 'action:greet', with: { name: 'ada' } }],
  })
  const outcome = await start(scene, plan)
  expect(outcome, outcome.messages.join()).toMatchObject({ state: 'succeeded' })
  expect(getFile(scene, 'asked')).toBe('asked\n')
  expect(getFile(scene, 'given')).toBe('helped-value\nhelped-value\n')
  expect(scene.events.filter(({ type }) => type === 'output')).toMatchObject([{ text: 'says ***\n' }])
  expect(effectOf(scene, outcome).enforcement).toMatchObject({ left: [] })
})

test('a helper that fails leaves the extension unasked: neither process ran', async () => {
  putExtension(scene)
  const plan = planOf({
    policy: {
      approval: 'never',
      processAllowlist: ['extension'],
      secretProcessAllowlist: ['sh'],
      environmentAllowlist: ['V'],
    },
    actions: {
      greet: {
        kind: 'extension.process',
        command: './bin/extension',
        protocolVersion,
        inputSchema,
        outputSchema,
        capabilities,
        env: { V: { process: { command: '/bin/sh', args: ['-c', 'exit 3'] } } },
      },
    },
    tasks: [{ id: 'greet', uses: 'action:greet', with: { name: 'ada' } }],
  })
  const outcome = await start(scene, plan)
  expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
  expect(outcome.messages.join()).toContain('secret_helper_failed')
  expect([getFile(scene, 'shaken'), getFile(scene, 'invoked')]).toEqual([null, null])
})
