import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { createScene, putFile, type Scene } from '../runner/support.ts'
import { codeOf, effectOf, prepareTool, refusalOf, resultOf, runTool, startTool } from './tool.ts'

/** What runs a script is as much a program as the script: bound, judged by its place, told by name when it changes. */
let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

function executable(place: string, content: string | null): string {
  mkdirSync(path.dirname(place), { recursive: true })
  if (content === null) copyFileSync('/bin/sh', place)
  else writeFileSync(place, content)
  chmodSync(place, 0o755)
  return place
}
const outside = (name: string, content: string | null) => executable(path.join(scene.directory, 'tools', name), content)
const script = (content: string) => executable(path.join(scene.workspace, 'tool'), content)

const realSh = () => execFileSync('readlink', ['-f', '/bin/sh'], { encoding: 'utf8' }).trim()
const run = (more: JsonObject = {}, policy: JsonObject = {}, environment: { [name: string]: string } = {}) =>
  runTool(
    scene,
    { command: './tool', ...more },
    { policy: { processAllowlist: ['tool'], ...policy }, ports: { environment } },
  )

const interpretersOf = (outcome: Awaited<ReturnType<typeof run>>) =>
  (effectOf(scene, outcome).binding['interpreter'] as { path: string }[] | undefined)?.map(one => one.path)

describe('bound by real path and digest', () => {
  test('the interpreter of a script, behind every link', async () => {
    outside('keep', null)
    symlinkSync('/bin/sh', path.join(scene.directory, 'tools/shell'))
    script(`#! ${path.join(scene.directory, 'tools/shell')} -e\necho ran\n`)
    const outcome = await run()
    expect(resultOf(outcome)).toMatchObject({ stdout: 'ran\n' })
    expect(effectOf(scene, outcome).binding).toMatchObject({
      executable: { path: path.join(scene.workspace, 'tool') },
      interpreter: [{ path: realSh(), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    })
  })

  test("an interpreter's interpreter, to the binary", async () => {
    const inner = outside('inner', '#!/bin/sh\nshift 0\nexec /bin/sh "$@"\n')
    script(`#!${inner}\necho twice\n`)
    const outcome = await run()
    expect(resultOf(outcome)).toMatchObject({ stdout: 'twice\n' })
    expect(interpretersOf(outcome)).toEqual([inner, realSh()])
  })

  test('none for a binary', async () => {
    copyFileSync('/bin/true', path.join(scene.workspace, 'tool'))
    const outcome = await run()
    expect(effectOf(scene, outcome).binding).not.toHaveProperty('interpreter')
  })

  test('people are shown them', async () => {
    script('#!/bin/sh\n')
    const outcome = await run({}, { approval: 'always' })
    expect(outcome.pause?.items[0]?.expectedEffect).toMatchObject({ interpreters: [{ path: realSh() }] })
  })
})

describe('`#!/usr/bin/env NAME`: what env will find is bound too', () => {
  test('without a PATH it looks where the C library does, in /bin and /usr/bin', async () => {
    script('#!/usr/bin/env sh\necho "path=$(env | grep ^PATH=)"\n')
    const outcome = await run()
    expect(resultOf(outcome)).toMatchObject({ exitCode: 0 })
    expect(interpretersOf(outcome)?.[0]).toMatch(/\/env$|busybox|coreutils/)
    expect(interpretersOf(outcome)).toContain(realSh())
  })

  test('with -S, which splits the rest', async () => {
    script('#!/usr/bin/env -S sh -e\necho "split"\n')
    expect(resultOf(await run())).toMatchObject({ stdout: 'split\n' })
  })

  const env = { PATH: { env: 'PATH' } }
  const withPath = (value: string, processAllowlist = ['tool']) =>
    run({ env }, { environmentAllowlist: ['PATH'], processAllowlist }, { PATH: value })

  test('with a PATH it is the first hit there that is bound and that runs', async () => {
    const first = outside('first/agentctl-sh', '#!/bin/sh\necho first\n')
    outside('second/agentctl-sh', '#!/bin/sh\necho second\n')
    script('#!/usr/bin/env agentctl-sh\n')
    const outcome = await withPath(`/nowhere:${path.dirname(first)}:${scene.directory}/tools/second:/usr/bin`)
    expect(resultOf(outcome)).toMatchObject({ stdout: 'first\n' })
    expect(interpretersOf(outcome)).toEqual([expect.stringMatching(/bin\//), first, realSh()])
  })

  test('a hit, or a place before the hit, that could be filled by others is refused', async () => {
    const trusted = outside('agentctl-sh', '#!/bin/sh\n')
    putFile(scene, 'out/bin/keep', '')
    script('#!/usr/bin/env agentctl-sh\n')
    const outcome = await withPath(`${scene.workspace}/out/bin:${path.dirname(trusted)}`)
    expect(refusalOf(scene, outcome).rule).toBe('untrusted_program')
    expect(effectOf(scene, outcome).decision.reason).toContain('out/bin/agentctl-sh')
    const link = path.join(scene.directory, 'linked')
    symlinkSync(path.join(scene.workspace, 'out/bin'), link)
    expect(refusalOf(scene, await withPath(`${link}:${path.dirname(trusted)}`)).rule).toBe('untrusted_program')
    const hit = executable(path.join(scene.workspace, 'out/bin/agentctl-sh'), '#!/bin/sh\n')
    expect(refusalOf(scene, await withPath(path.dirname(hit))).rule).toBe('untrusted_program')
    expect(await withPath(path.dirname(hit), ['tool', hit])).toMatchObject({ state: 'succeeded' })
  })

  test.each([
    ['a name that is nowhere', 'env agentctl-no-such', undefined],
    ['a name that PATH does not have', 'env agentctl-no-such', '/usr/bin:/bin'],
    ['a PATH with an empty entry', 'env sh', ':/bin'],
    ['a PATH with a relative entry', 'env agentctl-no-such', '/bin:bin'],
    ['an option', 'env -i sh', undefined],
    ['a variable', 'env A=b sh', undefined],
    ['a path', 'env ./sh', undefined],
    ['quotes behind -S', "env -S 'sh'", undefined],
    ['a variable behind -S', 'env -S A=b sh', undefined],
    ['nothing', 'env', undefined],
  ])('refused by name, nothing requested: %s', async (_, line, value) => {
    script(`#!/usr/bin/${line}\n`)
    const outcome = await (value === undefined ? run() : withPath(value))
    expect(codeOf(outcome)).toBe('bad_interpreter')
    expect(outcome.messages[0]).toMatch(/absolute path|absolute directories/)
    expect(scene.ledger.store.effects(outcome.run)).toEqual([])
  })
})

describe('a `#!` line is read as the kernel reads it', () => {
  test.each([
    ['longer than the kernel reads', `#!/bin/sh ${'x'.repeat(260)}\n`],
    ['with a NUL byte', '#!/bin/sh\0\n'],
    ['not UTF-8', Buffer.from([0x23, 0x21, 0x2f, 0x62, 0xff, 0x0a])],
    ['with a carriage return', '#!/bin/sh\r\necho\r\n'],
    ['with another blank than space and tab before the name', '#!\u000b/bin/sh\n'],
    ['empty', '#!\n'],
    ['only blanks', '#!   \t\n'],
  ])('%s: refused', async (_, content) => {
    const place = path.join(scene.workspace, 'tool')
    writeFileSync(place, content, { mode: 0o755 })
    chmodSync(place, 0o755)
    expect(codeOf(await run())).toBe('bad_interpreter')
  })

  test('exactly as long as the kernel reads, and without a line end, it runs', async () => {
    for (const content of [`#!/bin/sh -${'e'.repeat(244)}\n`, '#!/bin/sh']) {
      script(content)
      expect(await run(), content).toMatchObject({ state: 'succeeded' })
    }
  })
})

describe('an exact entry for a script says nothing of what runs it', () => {
  test('an interpreter under a writable root needs an entry of its own', async () => {
    const interpreter = executable(path.join(scene.workspace, 'out/sh'), null)
    // A `#!` line ends at a blank, which the workspace's path has.
    const link = path.join(scene.directory, 'sh')
    symlinkSync(interpreter, link)
    const tool = script(`#!${link}\necho exact\n`)
    const refused = await run({}, { processAllowlist: [tool] })
    expect(refusalOf(scene, refused)).toMatchObject({
      rule: 'untrusted_program',
      remedy: expect.stringContaining(interpreter),
    })
    expect(resultOf(await run({}, { processAllowlist: [tool, interpreter] }))).toMatchObject({ stdout: 'exact\n' })
  })
})

test('replaced between decision and start: nothing runs, interpreter_changed', async () => {
  const interpreter = outside('sh', null)
  const witness = path.join(scene.directory, 'witness')
  script(`#!${interpreter}\n: > "${witness}"\n`)
  const settings = { policy: { processAllowlist: ['tool'] } }
  const prepared = await prepareTool(scene, { command: './tool' }, settings)
  rmSync(interpreter)
  copyFileSync('/bin/true', interpreter)
  expect(await startTool(prepared)).toMatchObject({ kind: 'failed', code: 'interpreter_changed' })
  expect(existsSync(witness)).toBe(false)
  const again = await startTool(await prepareTool(scene, { command: './tool' }, settings))
  expect(again.kind).toBe('succeeded')
})
