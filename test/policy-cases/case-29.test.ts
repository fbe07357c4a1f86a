import { mkdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { policySchema } from '../../policy/decision/index.ts'
import { getFile, planOf, type Scene, start, statesOf, write } from '../runner/support.ts'
import { refusalOf, scenesOf, writes } from './scenes.ts'

const { scene, dispose } = scenesOf()
afterEach(dispose)

describe('case 29: roots that are not what they seem', () => {
  async function tried(here: Scene, place: string, policy: object) {
    const ended = await start(here, planOf(writes(place, policy)))
    return { state: ended.state, why: refusalOf(here, ended.run) }
  }

  test('`.git/hooks` is a link to a directory: neither name of it can be written', async () => {
    const here = scene({ 'tools/keep': '' })
    mkdirSync(path.join(here.workspace, '.git'))
    symlinkSync('../tools', path.join(here.workspace, '.git/hooks'))
    for (const place of ['.git/hooks/post-checkout', 'tools/post-checkout'])
      expect(await tried(here, place, { writableRoots: ['.'] })).toEqual({
        state: 'denied',
        why: expect.stringContaining('.git'),
      })
    expect(getFile(here, 'tools/post-checkout')).toBeNull()
    expect(await tried(here, 'other', { writableRoots: ['.'] })).toMatchObject({ state: 'succeeded' })
  })

  test('a root that names a file allows nothing, not the file either', async () => {
    const here = scene({ out: 'a file' })
    for (const place of ['out', 'out/x'])
      expect(await tried(here, place, {})).toMatchObject({ state: 'denied', why: expect.stringContaining('out') })
    expect(getFile(here, 'out')).toBe('a file')
  })

  test('a root that does not exist yet is made by the first write, and by nothing beside it', async () => {
    const here = scene()
    const policy = { writableRoots: ['fresh/root'] }
    expect(await tried(here, 'fresh/x', policy)).toMatchObject({ state: 'denied' })
    expect(await tried(here, 'fresh/root/deep/x', policy)).toMatchObject({ state: 'succeeded' })
    expect(getFile(here, 'fresh/root/deep/x')).toBe('written')
  })

  test('a root is anchored at the workspace, wherever an action runs', async () => {
    const here = scene({ 'sub/x': '' })
    const made = planOf({
      policy: { writableRoots: ['out'], processAllowlist: ['sh'], approval: 'never' },
      actions: {
        run: { kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', 'mkdir out; echo in > out/x'], cwd: 'sub' },
        write,
      },
      tasks: [
        { id: 'run', uses: 'action:run' },
        {
          id: 'sub',
          uses: 'action:write',
          needs: ['run'],
          failure: 'continue',
          with: { path: 'sub/out/y', content: 'x' },
        },
        { id: 'root', uses: 'action:write', needs: ['run'], with: { path: 'out/y', content: 'x' } },
      ],
    })
    const ended = await start(here, made)
    expect(statesOf(here, ended.run)).toEqual({ run: 'succeeded', sub: 'denied', root: 'succeeded' })
    expect([getFile(here, 'sub/out/x'), getFile(here, 'sub/out/y'), getFile(here, 'out/y')]).toEqual([
      'in\n',
      null,
      'x',
    ])
  })

  test.each(['~', '~/out', '~root/out'])('%s is not expanded, but refused where it is written', root => {
    for (const field of ['writableRoots', 'secretFileRoots'] as const)
      expect(policySchema.safeParse({ [field]: [root] }).error?.issues[0]?.message).toMatch(/`~` is not expanded/)
    expect(policySchema.safeParse({ workspaceRoot: root }).success).toBe(false)
    expect(policySchema.safeParse({ processAllowlist: [root] }).success).toBe(false)
  })
})
