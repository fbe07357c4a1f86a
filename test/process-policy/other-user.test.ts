import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { type OtherUser, otherUser } from '../action/other-user.ts'
import { documentOf, type Ended } from '../cli/support.ts'
import { type BuiltCli, buildCli } from './built-cli.ts'

/** What holds for a user whom file modes bind; where the suite is no root, for its own user. */
let built: BuiltCli
let user: OtherUser | null
let workspace: string
beforeAll(async () => {
  built = await buildCli()
  user = otherUser(61_205, built.folder)
})
afterAll(() => {
  user?.remove()
  built.remove()
})
beforeEach(() => {
  workspace = path.join(realpathSync(mkdtempSync(path.join(tmpdir(), 'agentctl user-'))), 'größe 大')
  mkdirSync(workspace)
})
afterEach(() => rmSync(path.dirname(workspace), { recursive: true, force: true }))

function put(name: string, content: string, mode = 0o644): void {
  const place = path.join(workspace, name)
  writeFileSync(place, content)
  chmodSync(place, mode)
}

/** Runs one process action as that user, with no HOME, no PATH and no name. */
function run(action: JsonObject, processAllowlist: string[]): Promise<Ended> {
  put(
    'flow.yaml',
    documentOf({
      policy: { approval: 'never', processAllowlist },
      outputs: { said: '${{ tasks.tool.output.stdout }}' },
      actions: { tool: { kind: 'builtin.shell.exec', ...action } },
      tasks: [{ id: 'tool', uses: 'action:tool' }],
    }),
  )
  if (user !== null) for (const place of [path.dirname(workspace), workspace]) chownSync(place, user.uid, user.uid)
  return built.run(workspace, {}, ['run', 'flow.yaml', '--output', 'json'], user)
}

test('case 28: HOME is unset, the user has no name, the workspace spaces and non-ASCII letters', async () => {
  put('script ü', 'echo "$1"\npwd -P\n')
  const ended = await run({ command: '/bin/sh', args: ['script ü', '-x $(id)\n`id`'] }, ['sh'])
  expect(ended.code, ended.stderr).toBe(0)
  expect(JSON.parse(ended.stdout).data.output).toEqual({ said: `-x $(id)\n\`id\`\n${workspace}\n` })
})

test('a workspace file that arguments name and that may not be read is refused: a change of it could not be told', async () => {
  put('locked', 'secret rules', 0o000)
  if (user !== null) chownSync(path.join(workspace, 'locked'), user.uid, user.uid)
  const ended = await run({ command: '/bin/sh', args: ['-c', 'echo ran', 'sh', '--rules=locked'] }, ['sh'])
  expect(ended.code).toBe(3)
  expect(ended.stderr).toContain('unreadable_argument')
  expect(ended.stderr).toContain('locked')
  chmodSync(path.join(workspace, 'locked'), 0o400)
  expect((await run({ command: '/bin/sh', args: ['-c', 'echo ran', 'sh', '--rules=locked'] }, ['sh'])).code).toBe(0)
})

test('a program that may be run and not read is refused: it could not be pinned by its digest', async () => {
  const tool = path.join(workspace, 'tool')
  copyFileSync('/bin/true', tool)
  if (user !== null) chownSync(tool, user.uid, user.uid)
  chmodSync(tool, 0o111)
  const ended = await run({ command: tool }, [tool])
  expect(ended.code).toBe(4)
  expect(ended.stderr).toContain('command_not_executable')
})
