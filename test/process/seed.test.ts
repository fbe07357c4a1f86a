import { existsSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { renderIssue } from '../../policy/approval/index.ts'
import { item, pause, process as processEffect, run as runView } from '../approval/pauses.ts'
import { createDesk, type Desk, documentOf, envelopeOf } from '../cli/support.ts'
import { runTool, sh } from '../process-policy/tool.ts'
import { createScene, type Scene } from '../runner/support.ts'
import { kinds, stateOf, until } from './support.ts'

describe('it is not a sandbox', () => {
  let desk: Desk
  beforeEach(() => {
    desk = createDesk()
  })
  afterEach(() => desk.dispose())

  const document = documentOf({
    policy: { processAllowlist: ['true'], approval: 'always' },
    actions: { tool: { kind: 'builtin.shell.exec', command: '/bin/true' } },
    tasks: [{ id: 'tool', uses: 'action:tool' }],
  })

  test('the plan, explain and the pause each say so', async () => {
    desk.put('flow.yaml', document)
    expect((await desk.cli('plan', 'flow.yaml')).stdout).toContain('(builtin.shell.exec, process, not a sandbox)')
    expect((await desk.cli('explain', 'flow.yaml', 'tool')).stdout).toContain('process, not a sandbox')
    const { stdout, stderr } = await desk.cli('run', 'flow.yaml')
    expect(stdout + stderr).toContain('isolation process, not a sandbox')
  })

  test('the approval issue says so of a process, and of nothing else', () => {
    const body = (change: Parameters<typeof item>[1]) =>
      renderIssue({
        run: runView,
        pause: pause([item(1, change)]),
        pageUrl: 'https://agentctl.example.dev/p',
        runUrl: null,
      }).body
    expect(body({ expectedEffect: processEffect })).toContain('isolation `process, not a sandbox`')
    expect(body({})).not.toContain('sandbox')
  })
})

describe('the record of an effect', () => {
  let scene: Scene
  beforeEach(() => {
    scene = createScene()
  })
  afterEach(() => scene.dispose())

  test.each([
    ['that succeeds', 'exit 0', 'succeeded'],
    ['that fails', 'exit 3', 'failed'],
    ['that ran too long', 'sleep 60', 'uncertain'],
  ])('%s says what held it, and what could not be had', async (_, script, state) => {
    const outcome = await runTool(scene, sh(script, { timeoutSeconds: 1 }))
    const [effect] = scene.ledger.store.effects(outcome.run)
    expect(effect).toMatchObject({ state, enforcement: { containment: kinds[0], left: [] } })
    const absent = effect?.enforcement?.['absent']
    expect(JSON.stringify(absent).includes('"cgroup"')).toBe(kinds[0] === 'best-effort')
  })
})

describe('agentctl killed by SIGKILL in the middle of an action', () => {
  let desk: Desk
  beforeEach(() => {
    desk = createDesk()
  })
  afterEach(() => desk.dispose())

  test('the resume ends what was left before anything else, and the effect is uncertain', async () => {
    desk.put(
      'flow.yaml',
      documentOf({
        policy: { processAllowlist: ['sh'], approval: 'never' },
        actions: {
          tool: {
            kind: 'builtin.shell.exec',
            command: '/bin/sh',
            args: ['-c', 'setsid sh -c "echo \\$\\$ > pid.new; mv pid.new pid; exec sleep 60" & exec sleep 60'],
          },
        },
        tasks: [{ id: 'tool', uses: 'action:tool' }],
      }),
    )
    const { process: child, ended } = desk.start('run', 'flow.yaml', '--output', 'json')
    await until('it runs', () => existsSync(`${desk.directory}/pid`))
    child.kill('SIGKILL')
    await ended
    const pid = Number(readFileSync(`${desk.directory}/pid`, 'utf8'))
    const ledger = new DatabaseSync(`${desk.directory}/.agentctl/runtime.db`, { readOnly: true })
    const { run } = ledger.prepare('SELECT run FROM runs').get() as { run: string }
    ledger.close()
    const resumed = await desk.cli('resume', run, '--output', 'json')
    // Dead and not yet waited for is gone too.
    expect([null, 'Z']).toContain(stateOf(pid))
    expect([resumed.code, envelopeOf(resumed).data.state]).toEqual([4, 'uncertain'])
  })
})
