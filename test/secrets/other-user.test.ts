import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type OtherUser, otherUser } from '../action/other-user.ts'
import { documentOf } from '../cli/support.ts'
import { type BuiltCli, buildCli } from '../process-policy/built-cli.ts'

/** For a user whom file modes bind; where the suite is no root, for its own user. */
let built: BuiltCli
let user: OtherUser | null
let workspace: string
beforeAll(async () => {
  built = await buildCli()
  user = otherUser(61_207, built.folder)
})
afterAll(() => {
  user?.remove()
  built.remove()
})
beforeEach(() => {
  workspace = realpathSync(mkdtempSync(path.join(tmpdir(), 'agentctl-unreadable-')))
  mkdirSync(path.join(workspace, 'secrets'))
  writeFileSync(path.join(workspace, 'secrets/token'), 'value-of-the-file')
  const document = documentOf({
    policy: { approval: 'never', processAllowlist: ['sh'], secretFileRoots: ['secrets'], environmentAllowlist: ['V'] },
    actions: {
      use: {
        kind: 'builtin.shell.exec',
        command: '/bin/sh',
        args: ['-c', 'true'],
        env: { V: { file: 'secrets/token' } },
      },
    },
    tasks: [{ id: 'use', uses: 'action:use' }],
  })
  writeFileSync(path.join(workspace, 'flow.yaml'), document)
  for (const name of ['', 'secrets', 'secrets/token', 'flow.yaml'])
    if (user !== null) chownSync(path.join(workspace, name), user.uid, user.uid)
})
afterEach(() => rmSync(workspace, { recursive: true, force: true }))

const cli = (...argv: string[]) => built.run(workspace, {}, argv, user)

test('a secret file, or a directory above it, that agentctl may not read is refused by name', async () => {
  expect((await cli('run', 'flow.yaml')).code).toBe(0)
  for (const [name, mode] of [
    ['secrets/token', 0o600],
    ['secrets', 0o700],
  ] as const) {
    chmodSync(path.join(workspace, name), 0)
    for (const command of [
      ['run', 'flow.yaml'],
      ['auth', 'check', 'flow.yaml'],
    ]) {
      const ended = await cli(...command)
      expect([name, command[0], ended.code, ended.stderr]).toEqual([
        name,
        command[0],
        3,
        expect.stringContaining('not_permitted'),
      ])
    }
    chmodSync(path.join(workspace, name), mode)
  }
})
