import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, copyFileSync, linkSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bundle } from '../../build.ts'
import type { Containment } from '../../runner/executor.ts'
import type { Ended, Orders, Told } from './program.ts'
import { isRoot, type Kind, kinds, openRoom, type Room, sh, tagged, until } from './support.ts'

/** An account that owns nothing. */
const stranger = 65_533
let folder: string
let program: string
let node: string

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'agentctl-arming-'))
  chmodSync(folder, 0o755)
  await bundle(path.join(folder, 'dist'), { program: path.join(import.meta.dirname, 'program.ts') })
  program = path.join(folder, 'dist/program.js')
  node = path.join(folder, 'node')
  try {
    linkSync(process.execPath, node)
  } catch {
    copyFileSync(process.execPath, node)
  }
})
afterAll(() => {
  rmSync(folder, { recursive: true })
  rmSync(`/tmp/agentctl-${stranger}`, { recursive: true, force: true })
})

/** As root a stranger's agentctl is tried too: root may read everything anyway. */
const users = isRoot ? ['root', 'another user'] : ['this user']
const cases = users.flatMap(user => kinds.map(kind => [user, kind] as const))

describe.each(cases)('agentctl of %s, %s', (user, kind) => {
  let room: Room
  const isStranger = user === 'another user'
  const account = isStranger ? { uid: stranger, gid: stranger } : {}
  beforeEach(() => {
    room = openRoom(kind)
    if (!isStranger) return
    chownSync(room.directory, stranger, stranger)
    chownSync(room.file('registry'), stranger, stranger)
  })
  afterEach(() => {
    expect(tagged(room.tag)).toEqual([])
    room.remove()
  })

  async function ask(
    command: string | Pick<Orders['processes'][number], 'command' | 'args' | 'timeoutSeconds'>,
    change: Partial<Orders['options']> = {},
    stdio: number[] = [],
  ): Promise<Told[]> {
    const orders: Orders = {
      directory: room.directory,
      tag: room.tag,
      options: { ...room.options, ...change },
      processes: [{ ...(typeof command === 'string' ? sh(command) : command), effect: 'one' }],
    }
    const child = spawn(node, [program, JSON.stringify(orders)], {
      cwd: '/',
      env: { SECRET: 'of-the-job', PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'inherit', ...stdio],
      ...account,
    })
    return await toldBy(child)
  }

  test('a child of the same user reads neither its environment nor its memory nor its descriptors', async () => {
    const reads = ['environ', 'mem', 'maps', 'fd/1', 'fd/0', 'auxv', 'syscall']
    const script = reads
      .map(name => `head -c 1 /proc/$PPID/${name} > /dev/null 2>&1 && echo READ ${name}`)
      .concat('ls /proc/$PPID/fd > /dev/null 2>&1 && echo READ fd', 'grep -c Name /proc/$PPID/status', 'env')
      .join('\n')
    const [absent, result] = await ask(script)
    expect(absent).toEqual({ absent: expect.not.arrayContaining(['non_dumpable', 'subreaper', 'closed_descriptors']) })
    const { stdout } = result as Ended
    // The last two show that it looked at the right process, and what its own environment is.
    const own = stdout.split('\n').filter(line => !/^(PWD|_|SHLVL|OLDPWD)=/.test(line) && line !== '')
    const expected = ['1', `TAG=${room.tag}`]
    if (user === 'root') expect(own.filter(line => !line.startsWith('READ '))).toEqual(expected)
    else expect(own).toEqual(expected)
  })

  test('a high descriptor that agentctl inherited does not reach the child', async () => {
    writeFileSync(room.file('open'), 'x')
    const stdio: number[] = []
    stdio[251 - 3] = openSync(room.file('open'), 'r')
    const [, result] = await ask('ls /proc/$$/fd; :', {}, Array.from(stdio, fd => fd ?? -1).map(ignored))
    expect((result as Ended).stdout).toBe('0\n1\n2\n3\n')
  })

  test('a script has itself as descriptor 4, and no other', async () => {
    const script = room.script('list', '#!/bin/sh\nreadlink /proc/$$/fd/4; ls /proc/$$/fd')
    const [, result] = await ask({ command: script })
    const [self, ...descriptors] = (result as Ended).stdout.trim().split('\n')
    expect(self).toBe(script)
    // 10 is where the shell itself reads its script.
    expect(descriptors.filter(name => name !== '10')).toEqual(['0', '1', '2', '3', '4'])
  })

  test('and where it cannot be closed nothing is started', async () => {
    writeFileSync(room.file('open'), 'x')
    const stdio: number[] = []
    stdio[251 - 3] = openSync(room.file('open'), 'r')
    const all = Array.from(stdio, fd => fd ?? -1).map(ignored)
    const [absent, result] = await ask('echo ran', { withoutNative: true }, all)
    expect(absent).toEqual({
      absent: expect.arrayContaining(['non_dumpable', 'subreaper', 'closed_descriptors']),
    })
    expect(result).toMatchObject({ end: { kind: 'spawn_failed', code: 'inherited_descriptor' }, stdout: '' })
    expect(JSON.stringify(result)).toContain('251>&-')
  })

  test('without the native layer each guarantee that needs it is reported, and it still ends what it can', async () => {
    const [, result] = await ask(`setsid sleep 60 & exit 3`, { withoutNative: true })
    expect(result).toMatchObject({
      end: { kind: 'exited', code: 3 },
      containment: {
        containment: kindOf(user, kind),
        absent: expect.arrayContaining([
          { guarantee: 'non_dumpable', reason: 'left out by a test' },
          { guarantee: 'subreaper', reason: 'left out by a test' },
          { guarantee: 'closed_descriptors', reason: 'left out by a test' },
        ]),
        left: [],
      },
    })
  })

  // Only root can make a program that runs as somebody else, and end what it left.
  test.runIf(isStranger)(
    'a child that became another user cannot be ended: it is named, and agentctl ends all the same',
    async () => {
      const became = path.join(folder, 'became')
      copyFileSync('/usr/bin/setpriv', became)
      chmodSync(became, 0o4755)
      const args = ['--reuid', '0', '--regid', '0', '--clear-groups', 'sleep', '300']
      const [, result] = await ask({ command: became, args, timeoutSeconds: 1 })
      const { end, containment } = result as Ended & { containment: Containment }
      expect(end).toEqual({ kind: 'timed_out', seconds: 1 })
      expect(containment.left).toHaveLength(1)
      process.kill(containment.left[0]?.pid ?? 0, 'SIGKILL')
      await until('its end', () => tagged(room.tag).length === 0)
    },
  )

  test('no controlling terminal, its own session and group, stdin at its end, no ambient variable', async () => {
    const [, result] = await ask(
      '(: < /dev/tty) 2> /dev/null && echo terminal; cat; cut -d" " -f5-7 /proc/$$/stat; echo $$; env | grep -c SECRET',
    )
    const [ids = '', pid, secrets] = (result as Ended).stdout.trim().split('\n')
    expect(ids.split(' ')).toEqual([pid, pid, '0'])
    expect(secrets).toBe('0')
  })
})

/** A stranger has no cgroup of its own here. */
function kindOf(user: string, kind: Kind): Kind {
  return user === 'another user' ? 'best-effort' : kind
}

/** spawn takes `ignore` for what is not to be there. */
function ignored(fd: number): number {
  return fd === -1 ? ('ignore' as unknown as number) : fd
}

async function toldBy(child: ChildProcess): Promise<Told[]> {
  let text = ''
  child.stdout?.on('data', chunk => {
    text += chunk
  })
  await once(child, 'close')
  return text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as Told)
}
