import { appendFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { effectOf } from '../process-policy/tool.ts'
import {
  createScene,
  freshWorkspace,
  getFile,
  planOf,
  predict,
  putFile,
  resume,
  type Scene,
  start,
  statesOf,
  vote,
} from '../runner/support.ts'
import { expectUnrecorded, value } from './secret.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const fileReference = { file: 'secrets/token' }
/** Leaves a line each time that it runs. */
const counting = (script = `echo ${value}`) => ({
  process: { command: '/bin/sh', args: ['-c', `echo asked >> asked; ${script}`] },
})
const asked = () => (getFile(scene, 'asked') ?? '').split('\n').length - 1

/** Tasks `one`, `two`, ... in a row, each with the reference as V. */
function plan(reference: JsonObject, policy: JsonObject = {}, tasks = ['one'], more: JsonObject = {}) {
  return planOf({
    policy: {
      approval: 'mutations',
      processAllowlist: ['sh'],
      secretProcessAllowlist: ['sh', 'ask'],
      secretFileRoots: ['secrets'],
      environmentAllowlist: ['V', 'JOB'],
      ...policy,
    },
    outputs: Object.fromEntries(tasks.map(id => [id, `\${{ tasks.${id}.output }}`])),
    actions: {
      use: {
        kind: 'builtin.shell.exec',
        command: '/bin/sh',
        args: ['-c', 'echo used >> used; echo "V=$V"'],
        env: { V: reference },
      },
    },
    tasks: tasks.map((id, index) => ({ id, uses: 'action:use', needs: tasks.slice(0, index).slice(-1), ...more })),
  })
}

describe('an approval is bound to a secret file', () => {
  test('the value as it was approved is used', async () => {
    putFile(scene, 'secrets/token', `${value}\n`)
    const paused = await start(scene, plan(fileReference))
    expect(paused).toMatchObject({ state: 'paused', exitCode: 3 })
    vote(scene, paused, 'approve')
    const ended = await resume(scene, paused.run)
    expect(ended).toMatchObject({ state: 'succeeded', outputs: { one: { stdout: 'V=***\n' } } })
  })

  test.each([
    ['another value', 'another-value-of-it'],
    ['one character more', `${value}x`],
  ])('%s voids it by name, and the new one is asked about', async (_, changed) => {
    putFile(scene, 'secrets/token', value)
    const paused = await start(scene, plan(fileReference))
    vote(scene, paused, 'approve')
    putFile(scene, 'secrets/token', changed)
    const again = await resume(scene, paused.run)
    expect(again).toMatchObject({ state: 'paused', exitCode: 3 })
    expect(again.pause?.items[0]?.reason).toContain('asked again: secret_files_changed')
    expect(getFile(scene, 'used')).toBeNull()
    vote(scene, again, 'approve')
    expect(await resume(scene, paused.run)).toMatchObject({ state: 'succeeded' })
    for (const secret of [value, changed]) expectUnrecorded(scene, secret)
  })

  test('another line end at its end is the same value', async () => {
    putFile(scene, 'secrets/token', `${value}\n`)
    const paused = await start(scene, plan(fileReference))
    vote(scene, paused, 'approve')
    putFile(scene, 'secrets/token', `${value}\r\n`)
    expect(await resume(scene, paused.run)).toMatchObject({ state: 'succeeded' })
  })

  test('gone at the resume: denied by name', async () => {
    putFile(scene, 'secrets/token', value)
    const paused = await start(scene, plan(fileReference))
    vote(scene, paused, 'approve')
    rmSync(path.join(scene.workspace, 'secrets/token'))
    const ended = await resume(scene, paused.run)
    expect(ended).toMatchObject({ state: 'denied', exitCode: 3 })
    expect(ended.messages.join()).toContain('not_found')
  })

  test('a new workspace with the same file needs no new approval', async () => {
    putFile(scene, 'secrets/token', value)
    const paused = await start(scene, plan(fileReference))
    vote(scene, paused, 'approve')
    freshWorkspace(scene, { 'secrets/token': `${value}\n` })
    expect(await resume(scene, paused.run)).toMatchObject({
      state: 'succeeded',
      outputs: { one: { stdout: 'V=***\n' } },
    })
  })
})

describe('a secret helper and its approval', () => {
  test('is shown, and does not run before it, nor where it is rejected', async () => {
    const paused = await start(scene, plan(counting()))
    expect(paused).toMatchObject({ state: 'paused' })
    expect(asked()).toBe(0)
    const [item] = paused.pause?.items ?? []
    expect(item?.expectedEffect).toMatchObject({
      environment: ['V'],
      secretHelpers: [
        {
          variable: 'V',
          command: '/bin/sh',
          args: counting().process.args,
          executableSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      ],
    })
    vote(scene, paused, 'reject')
    expect(await resume(scene, paused.run)).toMatchObject({ state: 'denied' })
    expect(asked()).toBe(0)
  })

  test('runs after it, once, in a new workspace too', async () => {
    const paused = await start(scene, plan(counting()))
    vote(scene, paused, 'approve')
    freshWorkspace(scene)
    expect(await resume(scene, paused.run)).toMatchObject({
      state: 'succeeded',
      outputs: { one: { stdout: 'V=***\n' } },
    })
    expect(asked()).toBe(1)
  })

  test('a changed program voids it by name, and is not run', async () => {
    const ask = putFile(scene, 'tools/ask', '#!/bin/sh\necho asked >> asked; echo long-enough\n', 0o755)
    const paused = await start(scene, plan({ process: { command: './tools/ask' } }))
    vote(scene, paused, 'approve')
    appendFileSync(ask, 'echo more\n')
    const again = await resume(scene, paused.run)
    expect(again.pause?.items[0]?.reason).toContain('asked again: secret_helpers_changed')
    expect(asked()).toBe(0)
  })

  test('a file that its arguments name, changed, voids it too', async () => {
    putFile(scene, 'query', 'echo long-enough')
    const paused = await start(scene, plan({ process: { command: '/bin/sh', args: ['query'] } }))
    vote(scene, paused, 'approve')
    putFile(scene, 'query', 'echo something-else')
    expect((await resume(scene, paused.run)).pause?.items[0]?.reason).toContain('secret_helpers_changed')
  })

  test('whatever it answers is no part of the binding: it may give another value each time', async () => {
    const paused = await start(scene, plan(counting('cat token')))
    vote(scene, paused, 'approve')
    putFile(scene, 'token', 'made-after-the-approval')
    expect(await resume(scene, paused.run)).toMatchObject({ state: 'succeeded' })
    expectUnrecorded(scene, 'made-after-the-approval')
  })

  test('denied or only predicted, it does not run', async () => {
    const denying = plan(counting(), { processAllowlist: ['other'] })
    expect(await start(scene, denying)).toMatchObject({ state: 'denied' })
    const free = plan(counting(), { approval: 'never' })
    expect((await predict(scene, free)).tasks).toMatchObject([{ outcome: 'run' }])
    expect(asked()).toBe(0)
  })

  test('a refused variable beside it: it does not run', async () => {
    const spec = planOf({
      policy: {
        approval: 'never',
        processAllowlist: ['sh'],
        secretProcessAllowlist: ['sh'],
        environmentAllowlist: ['V', 'W'],
      },
      actions: { use: { kind: 'builtin.shell.exec', command: '/bin/sh', env: { V: counting(), W: { env: 'W' } } } },
      tasks: [{ id: 'one', uses: 'action:use' }],
    })
    expect(await start(scene, spec)).toMatchObject({ state: 'denied' })
    expect(asked()).toBe(0)
  })
})

describe('how often a helper is asked', () => {
  const free = { approval: 'never' }

  test('once for a run and reference, also by effects side by side', async () => {
    const tasks = ['one', 'two', 'three']
    const script = `sleep 0.2; date +%s%N | tee -a given`
    const spec = (needs: boolean) => ({
      ...plan(counting(script), free, tasks),
      maxConcurrency: needs ? 1 : 3,
    })
    const inARow = await start(scene, spec(true))
    expect(inARow, inARow.messages.join()).toMatchObject({ state: 'succeeded' })
    expect(asked()).toBe(1)
    freshWorkspace(scene)
    const sideBySide = planOf({
      policy: { ...free, processAllowlist: ['sh'], secretProcessAllowlist: ['sh'], environmentAllowlist: ['V'] },
      runtime: { maxConcurrency: 3 },
      actions: {
        use: {
          kind: 'builtin.shell.exec',
          command: '/bin/sh',
          args: ['-c', 'echo "$V"'],
          env: { V: counting(script) },
        },
      },
      tasks: tasks.map(id => ({ id, uses: 'action:use' })),
    })
    expect(await start(scene, sideBySide)).toMatchObject({ state: 'succeeded' })
    expect(asked()).toBe(1)
  })

  test('again in another run, and for another reference', async () => {
    await start(scene, plan(counting(), free))
    await start(scene, plan(counting(), free))
    expect(asked()).toBe(2)
  })

  test('a program that changed within the run is another one', async () => {
    putFile(scene, 'tools/ask', '#!/bin/sh\necho asked >> asked; echo long-enough\n', 0o755)
    const spec = planOf({
      policy: { ...free, processAllowlist: ['sh'], secretProcessAllowlist: ['ask'], environmentAllowlist: ['V'] },
      actions: {
        use: {
          kind: 'builtin.shell.exec',
          command: '/bin/sh',
          args: ['-c', 'printf %s "$V" >> given; echo "echo other-value" >> tools/ask'],
          env: { V: { process: { command: './tools/ask' } } },
        },
      },
      tasks: [
        { id: 'one', uses: 'action:use' },
        { id: 'two', uses: 'action:use', needs: ['one'] },
      ],
    })
    expect(await start(scene, spec)).toMatchObject({ state: 'succeeded' })
    expect(asked()).toBe(2)
    expect(getFile(scene, 'given')).toBe('long-enoughlong-enough\nother-value')
  })

  test('again after a failure, where the task may be repeated', async () => {
    const script = `[ -e failed ] || { touch failed; exit 3; }; echo ${value}`
    const failing = plan(counting(script), free, ['one'], { retry: { maxAttempts: 2 } })
    expect(await start(scene, failing)).toMatchObject({ state: 'failed' })
    expect(asked()).toBe(1)
    freshWorkspace(scene)
    const spec = {
      ...failing,
      tasks: {
        one: { ...failing.tasks['one'], action: { ...failing.tasks['one']?.action, idempotency: 'idempotent' } },
      },
    }
    expect(await start(scene, spec as typeof failing)).toMatchObject({ state: 'succeeded' })
    expect(asked()).toBe(2)
    expect(getFile(scene, 'used')).toBe('used\n')
  })
})

describe('a value is hidden from the moment that it is known', () => {
  test('of a file that a task of the run made', async () => {
    const spec = planOf({
      policy: {
        approval: 'never',
        processAllowlist: ['sh'],
        secretFileRoots: ['secrets'],
        environmentAllowlist: ['V'],
      },
      outputs: { use: '${{ tasks.use.output }}' },
      actions: {
        make: {
          kind: 'builtin.shell.exec',
          command: '/bin/sh',
          args: ['-c', 'mkdir -p secrets; (printf made-on-; echo the-way) > secrets/token'],
        },
        use: {
          kind: 'builtin.shell.exec',
          command: '/bin/sh',
          args: ['-c', 'echo "now $V"'],
          env: { V: fileReference },
        },
      },
      tasks: [
        { id: 'make', uses: 'action:make' },
        { id: 'use', uses: 'action:use', needs: ['make'] },
      ],
    })
    const outcome = await start(scene, spec)
    expect(outcome).toMatchObject({ state: 'succeeded', outputs: { use: { stdout: 'now ***\n' } } })
    expectUnrecorded(scene, 'made-on-the-way')
  })

  test('of a helper, in a process that was begun before the helper was asked and prints it piece by piece', async () => {
    const spec = planOf({
      policy: {
        approval: 'never',
        processAllowlist: ['sh'],
        secretProcessAllowlist: ['sh'],
        environmentAllowlist: ['V'],
      },
      runtime: { maxConcurrency: 2 },
      actions: {
        talk: {
          kind: 'builtin.shell.exec',
          command: '/bin/sh',
          args: [
            '-c',
            'echo begun; until [ -e known ]; do sleep 0.02; done; printf correct-hor; sleep 0.1; echo se-battery',
          ],
        },
        use: {
          kind: 'builtin.shell.exec',
          command: '/bin/sh',
          args: ['-c', 'touch known; echo "$V"'],
          env: { V: counting('sleep 0.2; printf correct-; echo horse-battery') },
        },
      },
      tasks: [
        { id: 'talk', uses: 'action:talk' },
        { id: 'use', uses: 'action:use' },
      ],
    })
    const learned: string[] = []
    const outcome = await start(scene, spec, { ports: { learnSecrets: values => learned.push(...values) } })
    expect(outcome).toMatchObject({ state: 'succeeded' })
    expect(learned).toEqual([value])
    const said = scene.events.flatMap(event => (event.type === 'output' && event.task === 'talk' ? [event.text] : []))
    expect(said.join('')).toBe('begun\n***\n')
    expectUnrecorded(scene, value)
  })

  test('faces learn variables and files before the first event', async () => {
    putFile(scene, 'secrets/token', value)
    const learned: string[] = []
    const ports = {
      environment: { JOB: 'value-of-the-job' },
      learnSecrets: (values: readonly string[]) => {
        expect(scene.events).toEqual([])
        learned.push(...values)
      },
    }
    await start(scene, plan(fileReference, { approval: 'never', network: { customCa: { env: 'JOB' } } }), { ports })
    expect(new Set(learned)).toEqual(new Set([value, 'value-of-the-job']))
  })
})

test('what a helper left behind is recorded with the effect, and how much it printed is not', async () => {
  const outcome = await start(scene, plan(counting(), { approval: 'never' }))
  const { enforcement } = effectOf(scene, outcome)
  expect(enforcement).toMatchObject({ left: [], printedBytes: 'V='.length + value.length + 1 })
  expect(statesOf(scene, outcome.run)).toEqual({ one: 'succeeded' })
})
