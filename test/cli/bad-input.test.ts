import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, statSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createDesk, type Desk, documentOf, type Ended, envelopeOf, script } from './support.ts'

/** Files and streams that are not what they should be: a named error, never a hang, never a stack. */
let desk: Desk
beforeEach(() => {
  desk = createDesk()
})
afterEach(() => desk.dispose())

const codeOf = (ended: Ended) => [ended.code, envelopeOf(ended).diagnostics[0]?.code]

describe('a trail to verify that is', () => {
  test.each<[string, (name: string) => void]>([
    ['a pipe', name => execFileSync('mkfifo', [path.join(desk.directory, name)])],
    ['a device without an end', name => symlinkSync('/dev/zero', path.join(desk.directory, name))],
    ['a directory', name => mkdirSync(path.join(desk.directory, name))],
    ['one endless line', name => desk.put(name, 'x'.repeat(3_000_000))],
    ['not there', () => {}],
  ])('%s', async (_, make) => {
    make('trail')
    expect(codeOf(await desk.cli('audit', 'verify', 'trail', '--output', 'json'))).toEqual([2, 'unreadable_file'])
  })

  test('of another system, or binary', async () => {
    desk.put('trail', Buffer.from([0xff, 0x00, 0x0a, 0x7b, 0x0a]))
    expect(codeOf(await desk.cli('audit', 'verify', 'trail', '--output', 'json'))).toEqual([4, 'audit_broken'])
  })

  test('good, with the line ends of another system', async () => {
    desk.put('x.yaml', script('echo a'))
    expect((await desk.cli('run', 'x.yaml')).code).toBe(0)
    await desk.cli('audit', 'export', '--out', 'trail')
    desk.put('crlf', (desk.get('trail') ?? '').replaceAll('\n', '\r\n'))
    expect((await desk.cli('audit', 'verify', 'crlf')).code).toBe(0)
  })
})

test.each(['--db', '--workspace'])('an empty %s is a slip in the command line', async option => {
  desk.put('x.yaml', script('echo a'))
  expect(codeOf(await desk.cli('run', 'x.yaml', option, '', '--output', 'json'))).toEqual([2, 'usage'])
})

test.each([
  ['a pipe', 'unreachable'],
  ['/dev/full', 'full'],
  ['/proc/agentctl/ledger.db', 'read_only'],
  ['a link to itself', 'read_only'],
])('a ledger that is %s exits 5', async (what, code) => {
  desk.put('x.yaml', script('echo a'))
  const file = what.startsWith('/') ? what : 'ledger'
  if (what === 'a pipe') execFileSync('mkfifo', [path.join(desk.directory, file)])
  if (what === 'a link to itself') symlinkSync('ledger', path.join(desk.directory, file))
  const ended = await desk.cli('run', 'x.yaml', '--db', file, '--output', 'json')
  expect(codeOf(ended)).toEqual([5, code])
  expect(envelopeOf(ended).diagnostics[0]?.message).toContain(file)
})

describe('output that nobody keeps', () => {
  test.each([
    ['stdout', 1],
    ['stderr', 2],
  ])('%s on a full disk: the run is recorded, the exit code is 5', async (_, stream) => {
    desk.put('x.yaml', script('echo a >> witness; echo b; cat witness'))
    const full = openSync('/dev/full', 'w')
    const stdio: ('ignore' | 'pipe' | number)[] = ['ignore', 'pipe', 'pipe']
    stdio[stream] = full
    const main = path.resolve(import.meta.dirname, '../../cli/main.ts')
    const child = spawn(process.execPath, [main, 'run', 'x.yaml'], { cwd: desk.directory, stdio })
    let said = ''
    child.stderr?.on('data', text => (said += text))
    child.stdout?.resume()
    const [code] = await once(child, 'close')
    expect(code).toBe(5)
    if (stream === 1) expect(said).toContain('error unwritable_output: stdout cannot be written (ENOSPC)')
    expect(said).not.toMatch(/^\s+at /m)
    const db = new DatabaseSync(path.join(desk.directory, '.agentctl/runtime.db'), { readOnly: true })
    expect(db.prepare('SELECT state FROM runs').all()).toEqual([{ state: 'succeeded' }])
    db.close()
    expect(desk.get('witness')).toBe('a\n')
  })

  test('an export to a full disk is not taken for whole', async () => {
    desk.put('x.yaml', script('echo a'))
    await desk.cli('run', 'x.yaml')
    const main = path.resolve(import.meta.dirname, '../../cli/main.ts')
    const ended = spawnSync('sh', ['-c', `"$0" "$1" audit export > /dev/full`, process.execPath, main], {
      cwd: desk.directory,
      encoding: 'utf8',
    })
    expect([ended.status, ended.stderr]).toEqual([5, expect.stringContaining('the trail is not whole')])
  })

  test('a reader that goes away is no fault', async () => {
    desk.put('x.yaml', script('echo a'))
    await desk.cli('run', 'x.yaml')
    const main = path.resolve(import.meta.dirname, '../../cli/main.ts')
    const shell = `{ "$0" "$1" audit export; echo "exit $?" >&2; } | true`
    const ended = spawnSync('bash', ['-c', shell, process.execPath, main], { cwd: desk.directory, encoding: 'utf8' })
    expect(ended.stderr).toBe('exit 0\n')
  })
})

test('the disk of the ledger fills during a run: exit 5, the result printed, all of it there once there is space', async () => {
  // A real file system of its own where we may mount one. Elsewhere the device that is always full must do.
  const small = path.join(desk.directory, 'small')
  mkdirSync(small)
  const isMounted =
    process.getuid?.() === 0 && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]).status === 0
  const db = isMounted ? path.join(small, 'ledger.db') : '/dev/full'
  const many = Array.from({ length: 40 }, (_, index) => `t${index}`)
  const noisy = (id: string) => ({
    kind: 'builtin.shell.exec',
    command: '/bin/sh',
    args: ['-c', `echo ${id} >> witness; head -c 60000 /dev/zero | tr '\\0' x`],
  })
  desk.put(
    'x.yaml',
    documentOf({
      policy: { writableRoots: ['out'], processAllowlist: ['sh'], approval: 'never' },
      actions: Object.fromEntries(many.map(id => [id, noisy(id)])),
      tasks: many.map((id, index) => ({ id, uses: `action:${id}`, needs: many.slice(Math.max(0, index - 1), index) })),
    }),
  )
  try {
    const ended = await desk.cli('run', 'x.yaml', '--db', db, '--output', 'json')
    const { diagnostics, data } = envelopeOf(ended)
    expect([ended.code, JSON.stringify(diagnostics)]).toEqual([5, expect.stringMatching(/SQLITE_FULL.*Free space/)])
    if (!isMounted) return
    execFileSync('mount', ['-o', 'remount,size=16m', small])
    const run: string = data.runId
    const ran = (desk.get('witness') ?? '').trim().split('\n')
    expect(ran.length).toBeGreaterThan(3)
    for (let turn = 0; ; turn += 1) {
      const resumed = await desk.cli('resume', run, '--db', db, '--output', 'json')
      if (resumed.code === 0) break
      expect([resumed.code, turn]).toEqual([4, 0])
      const { effects } = envelopeOf(await desk.cli('effects', 'list', run, '--db', db, '--output', 'json')).data
      const uncertain = effects.filter(({ state }: { state: string }) => state === 'uncertain')
      expect(uncertain).toHaveLength(1)
      // What was printed is what reconciles it.
      const printed = diagnostics.find(({ message }) => message.startsWith('{'))?.message ?? ''
      desk.put('result.json', printed)
      desk.put('evidence', 'as printed')
      const said = [
        '--status',
        'applied',
        '--reason',
        'printed',
        '--evidence-file',
        'evidence',
        '--result-file',
        'result.json',
      ]
      const word = await desk.cli('effects', 'reconcile', uncertain[0].effect, ...said, '--db', db)
      expect([word.code, word.stderr]).toEqual([0, ''])
    }
    expect((desk.get('witness') ?? '').trim().split('\n')).toEqual(many)
    await desk.cli('audit', 'export', '--out', 'trail', '--db', db)
    expect((await desk.cli('audit', 'verify', 'trail')).code).toBe(0)
    expect(statSync(db).size).toBeGreaterThan(1_048_576)
  } finally {
    if (isMounted) execFileSync('umount', [small])
  }
})
