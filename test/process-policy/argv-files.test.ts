import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sha256 } from '../../policy/canonical.ts'
import { namesIn } from '../../runner/facts/argv-files.ts'
import { createScene, putFile, resume, type Scene, start, vote } from '../runner/support.ts'
import { prepareTool, resultOf, toolPlan } from './tool.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

/** Digests that the approval of `/bin/echo` with these arguments would be bound to. */
async function bound(args: string[], cwd = '.') {
  const prepared = await prepareTool(scene, { command: '/bin/echo', args, cwd })
  prepared.close()
  return prepared.binding['argv_files']
}

describe('seed: a workspace file that argv names is in the binding', () => {
  const forms: [form: string, arg: string][] = [
    ['alone', 'tools/x.sh'],
    ['from the current directory', './tools/../tools/x.sh'],
    ['--file=x', '--file=tools/x.sh'],
    ['key=value', 'script=tools/x.sh'],
    ['behind more than one =', '--define=script=tools/x.sh'],
    ['-fx', '-ftools/x.sh'],
    ['@x', '@tools/x.sh'],
    ['--data=@x', '--data=@tools/x.sh'],
    ['-d@x', '-d@tools/x.sh'],
    ['a list by colons', 'lib/none.jar:tools/x.sh'],
    ['a list by commas behind =', '--load=none.so,tools/x.sh'],
  ]
  test.each(forms)('%s', async (_, arg) => {
    putFile(scene, 'tools/x.sh', 'content\n')
    expect(await bound(['first', arg])).toEqual({ 'tools/x.sh': sha256('content\n') })
  })

  test('an absolute path into the workspace, and a path from the cwd of the action', async () => {
    const place = putFile(scene, 'tools/x.sh', 'content\n')
    const expected = { 'tools/x.sh': sha256('content\n') }
    expect(await bound([place])).toEqual(expected)
    expect(await bound(['x.sh'], 'tools')).toEqual(expected)
    expect(await bound(['x.sh'])).toEqual({})
  })

  test('names that are odd', async () => {
    for (const name of ['-x', 'a b', 'a\nb', '$(id)', '`id`', 'ü', '__proto__', 'a=b', 'a:b', '@at', '*'])
      putFile(scene, name, name)
    const files = (await bound([
      '-x',
      'a b',
      'a\nb',
      '$(id)',
      '`id`',
      'ü',
      '__proto__',
      'a=b',
      'a:b',
      '@at',
      '*',
    ])) as object
    expect(new Map(Object.entries(files))).toEqual(
      new Map(
        ['-x', 'a b', 'a\nb', '$(id)', '`id`', 'ü', '__proto__', 'a=b', 'a:b', '@at', '*'].map(name => [
          name,
          sha256(name),
        ]),
      ),
    )
  })

  test('a link stands for what it leads to, also where that lies outside the workspace', async () => {
    putFile(scene, 'real', 'inside')
    symlinkSync('real', path.join(scene.workspace, 'inner'))
    const far = path.join(scene.directory, 'far')
    writeFileSync(far, 'outside')
    symlinkSync(far, path.join(scene.workspace, 'outer'))
    expect(await bound(['inner', 'outer'])).toEqual({ real: sha256('inside'), outer: sha256('outside') })
  })

  test('`..` behind a link is resolved as the system does', async () => {
    putFile(scene, 'there/deep/keep', '')
    putFile(scene, 'there/x', 'the one that opens')
    putFile(scene, 'x', 'another one')
    symlinkSync('there/deep', path.join(scene.workspace, 'link'))
    expect(await bound(['link/../x'])).toEqual({ 'there/x': sha256('the one that opens') })
  })

  test('directories, FIFOs, sockets, loops, missing and foreign files are ordinary arguments', async () => {
    mkdirSync(path.join(scene.workspace, 'directory'))
    execFileSync('mkfifo', [path.join(scene.workspace, 'fifo')])
    symlinkSync('loop', path.join(scene.workspace, 'loop'))
    symlinkSync('gone', path.join(scene.workspace, 'dangling'))
    const args = [
      'directory',
      '.',
      'fifo',
      'loop',
      'dangling',
      'missing',
      '/etc/passwd',
      '/dev/null',
      '',
      'x'.repeat(5000),
    ]
    expect(await bound(args)).toEqual({})
  })

  test('thousands of them: one digest of all, which any of them changes', async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `many/${index}`)
    for (const name of names) putFile(scene, name, name)
    const before = await bound(names)
    expect(before).toEqual({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
    putFile(scene, 'many/1999', 'changed')
    expect(await bound(names)).not.toEqual(before)
  })

  test('a long text is no list of files', () => {
    expect(namesIn('x,'.repeat(10_000)).length).toBeLessThan(3)
    expect(namesIn('='.repeat(10_000)).length).toBeLessThan(300)
  })
})

describe('changed between approval and resume: voided by name, asked again, then run once', () => {
  const changes: [name: string, change: (place: string) => void][] = [
    ['written in place', place => writeFileSync(place, 'echo second\n')],
    [
      'replaced by a rename',
      place => {
        writeFileSync(`${place}.new`, 'echo second\n')
        renameSync(`${place}.new`, place)
      },
    ],
    [
      'replaced by a link',
      place => {
        writeFileSync(`${place}.other`, 'echo second\n')
        unlinkSync(place)
        symlinkSync(`${place}.other`, place)
      },
    ],
  ]
  test.each(changes)('%s', async (_, change) => {
    const place = putFile(scene, 'tool.sh', 'echo first\n')
    const plan = toolPlan({ command: '/bin/sh', args: ['tool.sh'] }, { approval: 'mutations' })
    const first = await start(scene, plan)
    vote(scene, first, 'approve')
    change(place)
    const second = await resume(scene, first.run)
    expect(second.state).toBe('paused')
    expect(second.pause?.items[0]?.reason).toContain('argv_files_changed')
    expect(scene.ledger.store.effects(first.run)[0]?.state).not.toBe('started')
    vote(scene, second, 'approve')
    const third = await resume(scene, first.run)
    expect(resultOf(third)).toMatchObject({ stdout: 'second\n' })
  })

  test('removed', async () => {
    const place = putFile(scene, 'tool.sh', 'echo first\n')
    const first = await start(scene, toolPlan({ command: '/bin/sh', args: ['tool.sh'] }, { approval: 'mutations' }))
    vote(scene, first, 'approve')
    rmSync(place)
    const second = await resume(scene, first.run)
    expect(second.pause?.items[0]?.reason).toContain('argv_files_changed')
  })

  test('one that appears since', async () => {
    const first = await start(scene, toolPlan({ command: '/bin/echo', args: ['-n', 'x'] }, { approval: 'mutations' }))
    vote(scene, first, 'approve')
    putFile(scene, 'x', '')
    expect((await resume(scene, first.run)).pause?.items[0]?.reason).toContain('argv_files_changed')
  })

  test('untouched, though read and touched meanwhile: it runs once, nobody is asked again', async () => {
    const place = putFile(scene, 'tool.sh', 'echo first\n')
    const first = await start(scene, toolPlan({ command: '/bin/sh', args: ['tool.sh'] }, { approval: 'mutations' }))
    vote(scene, first, 'approve')
    execFileSync('touch', [place])
    const second = await resume(scene, first.run)
    expect(resultOf(second)).toMatchObject({ stdout: 'first\n' })
    expect(scene.ledger.store.effects(first.run)).toHaveLength(1)
  })
})
