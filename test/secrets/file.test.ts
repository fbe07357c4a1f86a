import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sha256 } from '../../policy/canonical.ts'
import { effectOf, resultOf } from '../process-policy/tool.ts'
import { createScene, type Scene } from '../runner/support.ts'
import { expectRefused, give, hexOf, putBytes, value } from './secret.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const roots = (...secretFileRoots: string[]) => ({ policy: { secretFileRoots } })
const token = { file: 'secrets/token' }

describe('a secret file is given', () => {
  test.each([
    ['as it is', value, value],
    ['without one LF at its end', `${value}\n`, value],
    ['without one CRLF at its end', `${value}\r\n`, value],
    ['without the last of two line ends alone', `${value}\n\n`, `${value}\n`],
    ['with a CR that is no line end', `${value}\r`, `${value}\r`],
    ['with blanks and lines of its own', ` a\nb\t${value} `, ` a\nb\t${value} `],
    ['with its byte order mark', `\ufeff${value}`, `\ufeff${value}`],
    ['of any letters', 'ünïcode 💥', 'ünïcode 💥'],
    ['of four characters', 'abcd', 'abcd'],
    ['of 64 KiB', 'x'.repeat(65_536), 'x'.repeat(65_536)],
  ])('%s', async (_, content, given) => {
    putBytes(scene, 'secrets/token', content)
    const outcome = await give(scene, token, roots('secrets'))
    expect(outcome, outcome.messages.join()).toMatchObject({ state: 'succeeded' })
    expect(resultOf(outcome)['stdout']).toBe(hexOf(given))
    expect(effectOf(scene, outcome).binding).toMatchObject({
      environment: {},
      secret_files: { V: { file: 'secrets/token', path: 'secrets/token', sha256: sha256(given) } },
    })
  })

  test('through a link that stays inside the root, and one that leads into it', async () => {
    putBytes(scene, 'secrets/versions/2', value)
    symlinkSync('versions/2', path.join(scene.workspace, 'secrets/token'))
    symlinkSync('secrets', path.join(scene.workspace, 'link'))
    for (const file of ['secrets/token', 'link/token', 'secrets/./token']) {
      const outcome = await give(scene, { file }, roots('secrets'))
      expect(resultOf(outcome)['stdout']).toBe(hexOf(value))
      expect(effectOf(scene, outcome).binding).toMatchObject({ secret_files: { V: { path: 'secrets/versions/2' } } })
    }
  })

  test('from an absolute root, by an absolute path, and from a root that is a link', async () => {
    const outside = path.join(scene.directory, 'mounted')
    mkdirSync(outside)
    writeFileSync(path.join(outside, 'token'), value)
    symlinkSync(outside, path.join(scene.directory, 'alias'))
    for (const [root, file] of [
      [outside, `${outside}/token`],
      [path.join(scene.directory, 'alias'), `${outside}/token`],
      [outside, `${scene.directory}/alias/token`],
      ['secrets', path.join(scene.workspace, 'secrets/token')],
    ] as const) {
      putBytes(scene, 'secrets/token', value)
      expect(resultOf(await give(scene, { file }, roots(root)))['stdout']).toBe(hexOf(value))
    }
  })
})

describe('a secret file is refused by name', () => {
  test.each([
    ['empty', '', 'empty_secret'],
    ['a line end alone', '\n', 'empty_secret'],
    ['a CRLF alone', '\r\n', 'empty_secret'],
    ['three characters', 'abc\n', 'secret_refused'],
    ['three letters of more units', '💥💥💥', 'secret_refused'],
    ['64 KiB and one byte', 'x'.repeat(65_537), 'secret_too_large'],
    ['64 KiB and a line end', `${'x'.repeat(65_536)}\n`, 'secret_too_large'],
    ['no UTF-8', Buffer.from([0x61, 0x62, 0xff, 0x63, 0x64]), 'secret_not_utf8'],
    ['UTF-16', Buffer.from('\ufeffpassword', 'utf16le'), 'secret_not_utf8'],
    ['a NUL byte', 'pass\0word', 'secret_holds_nul'],
  ])('%s', async (_, content, rule) => {
    putBytes(scene, 'secrets/token', content)
    const reason = expectRefused(scene, await give(scene, token, roots('secrets')), rule)
    expect(reason).toContain('"secrets/token"')
    expect(reason).not.toMatch(/abc|pass|💥|x{9}/)
  })

  test('missing, dangling, a directory, below a file', async () => {
    putBytes(scene, 'secrets/file', value)
    mkdirSync(path.join(scene.workspace, 'secrets/directory'))
    symlinkSync('absent', path.join(scene.workspace, 'secrets/dangling'))
    symlinkSync('loop', path.join(scene.workspace, 'secrets/loop'))
    for (const [name, rule] of [
      ['absent', 'not_found'],
      ['absent/deeper', 'not_found'],
      ['dangling', 'dangling_symlink'],
      ['loop', 'symlink_loop'],
      ['directory', 'is_directory'],
      ['file/token', 'not_directory'],
    ] as const)
      expectRefused(scene, await give(scene, { file: `secrets/${name}` }, roots('secrets')), rule)
  })

  test('a FIFO, without waiting for a writer; a socket; a device', async () => {
    mkdirSync(path.join(scene.workspace, 'secrets'))
    execFileSync('mkfifo', [path.join(scene.workspace, 'secrets/fifo')])
    const server = createServer()
    // By a relative path: an absolute one would be longer than the system allows.
    const here = process.cwd()
    process.chdir(path.join(scene.workspace, 'secrets'))
    await new Promise<void>(resolve => server.listen('socket', resolve))
    process.chdir(here)
    try {
      for (const name of ['fifo', 'socket'])
        expectRefused(scene, await give(scene, { file: `secrets/${name}` }, roots('secrets')), 'not_regular')
      expectRefused(scene, await give(scene, { file: '/dev/null' }, roots('/dev')), 'not_regular')
    } finally {
      server.close()
    }
  })

  test('a file that agentctl may not know the size of', async () => {
    expectRefused(scene, await give(scene, { file: '/proc/version' }, roots('/proc')), 'empty_secret')
  })

  test.each(['../token', 'secrets/../token', 'secrets/a/../../token', '~/token', '', 'secrets/a\0b'])(
    '%j already with the document',
    async file => {
      await expect(async () => give(scene, { file }, roots('secrets'))).rejects.toThrow('invalid_secret_reference')
    },
  )
})

describe('what lies under no secret root is refused for that, and told nothing about', () => {
  test('outside, outside and absent, through a link, through a link above', async () => {
    putBytes(scene, 'secrets/kept', value)
    putBytes(scene, 'elsewhere/token', value)
    putBytes(scene, 'secretsandmore/token', value)
    symlinkSync('../elsewhere/token', path.join(scene.workspace, 'secrets/link'))
    symlinkSync('../elsewhere', path.join(scene.workspace, 'secrets/directory'))
    const files = [
      'elsewhere/token',
      'elsewhere/absent',
      'secretsandmore/token',
      'secrets/link',
      'secrets/directory/token',
    ]
    for (const file of files) {
      const reason = expectRefused(scene, await give(scene, { file }, roots('secrets')), 'secretFileRoots')
      expect(reason).toMatch(/under no secret root; name its directory in spec\.policy\.secretFileRoots/)
      expect(reason).not.toMatch(/exist|absent does|directory where/)
    }
  })

  test('a link that dangles outside', async () => {
    mkdirSync(path.join(scene.workspace, 'elsewhere'))
    symlinkSync('absent', path.join(scene.workspace, 'elsewhere/dangling'))
    expectRefused(scene, await give(scene, { file: 'elsewhere/dangling' }, roots('secrets')), 'secretFileRoots')
  })

  test('a root that is a file, or that leads out of the workspace, allows nothing', async () => {
    putBytes(scene, 'secrets', value)
    const reason = expectRefused(scene, await give(scene, { file: 'secrets' }, roots('secrets')), 'secretFileRoots')
    expect(reason).toContain('is a file')
    rmSync(path.join(scene.workspace, 'secrets'))
    mkdirSync(path.join(scene.directory, 'outside'))
    writeFileSync(path.join(scene.directory, 'outside/token'), value)
    symlinkSync(path.join(scene.directory, 'outside'), path.join(scene.workspace, 'secrets'))
    const out = expectRefused(scene, await give(scene, token, roots('secrets')), 'secretFileRoots')
    expect(out).toContain('leads out of the workspace')
  })

  test('the variable must be on its own list too, and comes first', async () => {
    putBytes(scene, 'secrets/token', 'abc')
    const settings = { policy: { secretFileRoots: ['secrets'], environmentAllowlist: ['OTHER'] } }
    expectRefused(scene, await give(scene, token, settings), 'environmentAllowlist')
  })
})

test('the root of a file is looked at again for each effect', async () => {
  putBytes(scene, 'secrets/token', value)
  expect(await give(scene, token, roots('secrets'))).toMatchObject({ state: 'succeeded' })
  renameSync(path.join(scene.workspace, 'secrets'), path.join(scene.workspace, 'moved'))
  symlinkSync('moved', path.join(scene.workspace, 'secrets'))
  expect(await give(scene, token, roots('secrets'))).toMatchObject({ state: 'succeeded' })
  rmSync(path.join(scene.workspace, 'secrets'))
  expectRefused(scene, await give(scene, token, roots('secrets')), 'not_found')
})
