import { rmSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createDesk, type Desk, documentOf } from '../cli/support.ts'
import { getFile, planOf, putFile, resume, start } from '../runner/support.ts'
import { scenesOf, writes } from './scenes.ts'

const { scene, dispose } = scenesOf()
afterEach(dispose)

describe('case 32: enforcement that was asked for and cannot be armed is a refusal, never a downgrade', () => {
  let desk: Desk
  beforeEach(() => {
    desk = createDesk()
  })
  afterEach(() => desk.dispose())
  const image = `none.invalid/x@sha256:${'a'.repeat(64)}`

  test.each(['container', 'cell'])(
    'isolation: %s where there is none of its image: nothing runs on the host',
    async isolation => {
      desk.put(
        'flow.yaml',
        documentOf({
          policy: { processAllowlist: ['touch'], approval: 'never' },
          actions: {
            run: {
              kind: 'builtin.shell.exec',
              command: 'touch',
              args: [path.join(desk.directory, 'ran')],
              isolation,
              [isolation]: { image },
            },
          },
          tasks: [{ id: 'run', uses: 'action:run' }],
        }),
      )
      const ended = await desk.cli('run', 'flow.yaml')
      expect([2, 4]).toContain(ended.code)
      expect(ended.stderr + ended.stdout).toMatch(/isolation|image|engine|cell/)
      expect(desk.get('ran')).toBeNull()
    },
  )

  test('a floor of the host that wants more than this runner has leaves no process of the host allowed', async () => {
    const here = scene()
    const made = planOf({
      policy: { processAllowlist: ['touch'], approval: 'never' },
      actions: { run: { kind: 'builtin.shell.exec', command: 'touch', args: ['ran'] } },
      tasks: [{ id: 'run', uses: 'action:run' }],
    })
    const hostFloor = {
      minimumIsolation: 'container' as const,
      approvers: { permission: 'write' as const },
      preventSelfApproval: true,
    }
    const ended = await start(here, made, { ports: { hostFloor } })
    expect(ended.state).toBe('denied')
    expect(getFile(here, 'ran')).toBeNull()
  })

  test('a workspace root that is gone stops the run before it exists', async () => {
    const here = scene({ 'sub/x': '' })
    const made = planOf(writes('out/x', { workspaceRoot: 'sub' }))
    rmSync(path.join(here.workspace, 'sub'), { recursive: true })
    const ended = await start(here, made)
    expect(ended).toMatchObject({ exitCode: 2 })
    expect(ended.messages.join()).toContain('workspaceRoot')
    expect(here.ledger.store.record(ended.run)).toBeNull()
    putFile(here, 'sub/x', '')
    expect((await start(here, made)).state).toBe('succeeded')
    await expect(resume(here, ended.run)).rejects.toThrow(/no run/)
  })
})
