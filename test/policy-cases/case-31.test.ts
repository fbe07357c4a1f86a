import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { createDesk, type Desk, documentOf, envelopeOf } from '../cli/support.ts'
import { planOf, start } from '../runner/support.ts'
import { refusalOf, scenesOf, writes } from './scenes.ts'

const { scene, dispose } = scenesOf()
afterEach(dispose)

describe('case 31: the policy is the one that the run started with', () => {
  let desk: Desk
  beforeEach(() => {
    desk = createDesk()
  })
  afterEach(() => desk.dispose())

  const flow = (approval: string): JsonObject => ({
    policy: { processAllowlist: ['sh'], writableRoots: ['out'], approval },
    actions: {
      edit: {
        kind: 'builtin.shell.exec',
        command: '/bin/sh',
        args: ['-c', 'sed -i \'s/"out"/"."/; s/"mutations"/"never"/\' flow.yaml && grep -q \'"."\' flow.yaml'],
        idempotency: 'idempotent',
      },
      write: { kind: 'builtin.write' },
    },
    tasks: [
      { id: 'edit', uses: 'action:edit' },
      { id: 'beyond', uses: 'action:write', needs: ['edit'], with: { path: 'beyond.txt', content: 'x' } },
    ],
  })

  test('an allowed action edits the document in the middle of the run: what follows is judged by the old one', async () => {
    desk.put('flow.yaml', documentOf(flow('never')))
    const ended = envelopeOf(await desk.cli('run', 'flow.yaml', '--output', 'json'))
    expect(ended.data.state).toBe('denied')
    expect(desk.get('flow.yaml')).toContain('"."')
    expect(desk.get('beyond.txt')).toBeNull()
  })

  test('one that pauses is not resumed by an edited document either, which is named', async () => {
    const gated: JsonObject = {
      policy: { writableRoots: ['out'], approval: 'mutations' },
      actions: { write: { kind: 'builtin.write' } },
      tasks: [{ id: 'w', uses: 'action:write', with: { path: 'out/x', content: 'x' } }],
    }
    desk.put('flow.yaml', documentOf(gated))
    const { data } = envelopeOf(await desk.cli('run', 'flow.yaml', '--output', 'json'))
    await desk.cli('approvals', 'approve', data.approvals[0].id, '--reason', 'yes')
    desk.put('flow.yaml', documentOf({ ...gated, policy: { writableRoots: ['.'], approval: 'never' } }))
    const again = await desk.cli('resume', data.runId)
    expect(again.code).toBe(2)
    expect(again.stderr + again.stdout).toContain('the document has changed')
    expect(desk.get('out/x')).toBeNull()
  })

  test('no tool of ours writes the document, its variables or its packs at all', async () => {
    const here = scene({ 'vars.yaml': 'a: 1' })
    const document = path.join(here.workspace, 'test.yaml')
    writeFileSync(document, '')
    for (const place of ['test.yaml', 'TEST.yaml', './test.yaml']) {
      const ended = await start(here, planOf(writes(place, { writableRoots: ['.'] })), {
        ports: { protectedPaths: [document] },
      })
      expect(ended.state).toBe('denied')
      expect(refusalOf(here, ended.run)).toContain('protected_file')
    }
  })
})
