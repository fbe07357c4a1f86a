import { appendFileSync, chmodSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { createScene, getFile, planOf, putFile, resume, type Scene, start, vote } from './support.ts'

/** A process that names files of the workspace shares no batch with what could change them. */
let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const shell = (args: string[], more: JsonObject = {}) => ({
  kind: 'builtin.shell.exec',
  command: '/bin/sh',
  args,
  ...more,
})
const rewrite = shell(['-c', 'printf "#!/bin/sh\\necho EVIL\\n" > h.sh'])

function plan(actions: { [name: string]: JsonObject }, approval: string, extra: JsonObject = {}) {
  const ids = Object.keys(actions)
  return planOf({
    runtime: { maxConcurrency: 8 },
    policy: {
      approval,
      writableRoots: ['.'],
      processAllowlist: ['sh', path.join(scene.workspace, 'h.sh')],
      ...extra,
    },
    outputs: Object.fromEntries(ids.map(id => [id, `\${{ tasks.${id}.output }}`])),
    actions,
    tasks: ids.map(id => ({
      id,
      uses: `action:${id}`,
      ...(id === 'w' && { with: { path: 'h.sh', content: 'echo EVIL\n' } }),
    })),
  })
}

describe('approved together: what a sibling changes voids the approval by name, and is asked again', () => {
  const cases: [name: string, change: JsonObject, victim: JsonObject, fact: string][] = [
    ['a process, a file that args name', rewrite, shell(['h.sh']), 'argv_files'],
    ['a process, a script of the workspace', rewrite, { kind: 'builtin.shell.exec', command: './h.sh' }, 'executable'],
  ]
  test.each(cases)('%s', async (_, change, victim, fact) => {
    for (let turn = 0; turn < 4; turn++) {
      putFile(scene, 'h.sh', '#!/bin/sh\necho GOOD\n')
      chmodSync(path.join(scene.workspace, 'h.sh'), 0o755)
      const first = await start(scene, plan({ x: change, y: victim }, 'mutations'))
      vote(scene, first, 'approve')
      const second = await resume(scene, first.run)
      expect(second.state).toBe('paused')
      expect(second.pause?.items).toMatchObject([{ task: 'y', reason: expect.stringContaining(`${fact}_changed`) }])
      expect(scene.ledger.store.effects(first.run).find(({ task }) => task === 'y')?.startedAt ?? null).toBeNull()
    }
  })

  test('the one that names the file first: it runs with what was approved, alone', async () => {
    putFile(scene, 'h.sh', 'sleep 0.2; echo GOOD\n')
    const first = await start(scene, plan({ y: shell(['h.sh']), x: rewrite }, 'mutations'))
    vote(scene, first, 'approve')
    const second = await resume(scene, first.run)
    expect(second).toMatchObject({ state: 'succeeded', outputs: { y: { stdout: 'GOOD\n' } } })
    expect(getFile(scene, 'h.sh')).toContain('EVIL')
  })

  test('a write beside it', async () => {
    putFile(scene, 'h.sh', 'sleep 0.2; cat h.sh\n')
    const write = { kind: 'builtin.write' }
    const outcome = await start(scene, plan({ y: shell(['h.sh']), w: write }, 'never'))
    expect(outcome).toMatchObject({ state: 'succeeded', outputs: { y: { stdout: 'sleep 0.2; cat h.sh\n' } } })
    expect(getFile(scene, 'h.sh')).toContain('EVIL')
  })

  test('a file that only the arguments of a secret helper name', async () => {
    putFile(scene, 'h.sh', 'echo good-value\n')
    const helper = { process: { command: '/bin/sh', args: ['h.sh'] } }
    const victim = shell(['-c', 'test "$T" = good-value'], { env: { T: helper } })
    const extra = { environmentAllowlist: ['T'], secretProcessAllowlist: ['sh'] }
    const first = await start(scene, plan({ x: rewrite, y: victim }, 'mutations', extra))
    vote(scene, first, 'approve')
    const second = await resume(scene, first.run)
    expect(second.pause?.items).toMatchObject([
      { task: 'y', reason: expect.stringContaining('secret_helpers_changed') },
    ])
  })
})

test('processes that name no file of the workspace run side by side', async () => {
  const log = path.join(scene.directory, 'log')
  appendFileSync(log, '')
  const one = shell(['-c', `echo + >> '${log}'; sleep 0.3; echo - >> '${log}'`])
  const actions = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`t${index}`, one]))
  expect(await start(scene, plan(actions, 'never'))).toMatchObject({ state: 'succeeded' })
  let [now, most] = [0, 0]
  for (const line of readFileSync(log, 'utf8').trim().split('\n')) {
    now += line === '+' ? 1 : -1
    most = Math.max(most, now)
  }
  expect(most).toBeGreaterThan(4)
})
