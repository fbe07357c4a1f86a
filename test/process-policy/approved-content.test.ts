import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { resultOfEnd } from '../../runner/process/process-result.ts'
import { createScene, putFile, type Scene } from '../runner/support.ts'
import { effectOf, prepareTool, refusalOf, resultOf, runTool, startTool } from './tool.ts'

/** What was looked at is what runs: every file that decides what a process does, up to its launch. */
let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

describe('a file that args name, changed between the look and the launch: argv_files_changed, nothing runs', () => {
  const changes: [name: string, change: (place: string) => void][] = [
    ['written in place', place => writeFileSync(place, ': > ran; echo second\n')],
    ['removed', place => rmSync(place)],
    ['one that appears', place => writeFileSync(path.join(path.dirname(place), 'later'), '')],
  ]
  test.each(changes)('%s', async (_, change) => {
    const place = putFile(scene, 'tool.sh', ': > ran; echo first\n')
    const prepared = await prepareTool(scene, { command: '/bin/sh', args: ['tool.sh', 'later'] })
    change(place)
    expect(await startTool(prepared)).toMatchObject({
      kind: 'failed',
      code: 'argv_files_changed',
      retrySafe: true,
      message: expect.stringMatching(/"(tool\.sh|later)", which args name, was changed/),
    })
    expect(existsSync(path.join(scene.workspace, 'ran'))).toBe(false)
  })

  test('one that may be repeated is looked at again, and runs with what stands there then', async () => {
    putFile(scene, 'tool.sh', 'echo first\n')
    const prepared = await prepareTool(scene, { command: '/bin/sh', args: ['tool.sh'] })
    putFile(scene, 'tool.sh', 'echo second\n')
    expect(await startTool(prepared)).toMatchObject({ code: 'argv_files_changed' })
    const again = await prepareTool(scene, { command: '/bin/sh', args: ['tool.sh'] })
    expect(await startTool(again)).toMatchObject({ output: { stdout: 'second\n' } })
  })
})

test('content that changes through a mapping, which no time tells, is told by the digest', async () => {
  const file = path.join(scene.workspace, 'x.db')
  const database = new DatabaseSync(file)
  try {
    database.exec('PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)')
    // SQLite maps this one shared and writes it in place; older than a second, so that a digest would be kept.
    const shared = `${file}-shm`
    await new Promise(resolve => setTimeout(resolve, 1_200))
    const look = async () => {
      const prepared = await prepareTool(scene, { command: '/bin/echo', args: ['x.db-shm'] })
      prepared.close()
      return prepared.binding['argv_files']
    }
    // The kernel tells the time of the first write after it wrote the page to the disk, and of none until the next.
    for (let attempt = 0; ; attempt += 1) {
      const [content, before, changedAt] = [readFileSync(shared), await look(), statSync(shared).ctimeMs]
      database.exec(`INSERT INTO t VALUES (${attempt})`)
      if (statSync(shared).ctimeMs !== changedAt && attempt < 50) continue
      expect(statSync(shared).ctimeMs).toBe(changedAt)
      expect(readFileSync(shared).equals(content)).toBe(false)
      expect(await look()).not.toEqual(before)
      break
    }
  } finally {
    database.close()
  }
})

const scriptTool = (line: string) => {
  putFile(scene, 'tool', `${line}\necho own\n`)
  chmodSync(path.join(scene.workspace, 'tool'), 0o755)
}
const run = (processAllowlist = ['tool']) => runTool(scene, { command: './tool' }, { policy: { processAllowlist } })

describe('a file that a `#!` line hands to its interpreter', () => {
  test.each([
    ['alone', '#!/bin/sh PLACE'],
    ['behind env -S', '#!/usr/bin/env -S sh PLACE'],
    ['behind an option of env -S', '#!/usr/bin/env -S sh -e PLACE'],
  ])('in a place that others may fill is refused: %s', async (_, line) => {
    // Not in the workspace, whose path has a blank, at which `env -S` splits.
    const open = path.join(scene.directory, 'open')
    mkdirSync(open)
    chmodSync(open, 0o777)
    const payload = path.join(open, 'payload')
    writeFileSync(payload, 'echo payload\n')
    scriptTool(line.replace('PLACE', payload))
    const outcome = await run()
    expect(refusalOf(scene, outcome).rule).toBe('untrusted_program')
    expect(effectOf(scene, outcome).decision.reason).toContain(payload)
    expect(resultOf(await run(['tool', payload]))).toMatchObject({ stdout: 'payload\n' })
  })

  test('elsewhere is bound, and looked at before the launch', async () => {
    const payload = putFile(scene, 'payload', 'echo payload\n')
    scriptTool('#!/bin/sh ./payload')
    const outcome = await run()
    expect(resultOf(outcome)).toMatchObject({ stdout: 'payload\n' })
    expect(effectOf(scene, outcome).binding['interpreter']).toContainEqual({
      path: payload,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const prepared = await prepareTool(scene, { command: './tool' }, { policy: { processAllowlist: ['tool'] } })
    writeFileSync(payload, 'echo changed\n')
    expect(await startTool(prepared)).toMatchObject({ code: 'interpreter_changed' })
  })
})

describe.runIf(process.platform === 'linux')('the dynamic loader of a binary', () => {
  /** A copy of /bin/true whose loader lies where it is told; its name must be no longer than the system's own. */
  function binaryWithLoader(loader: string): string {
    const bytes = readFileSync('/bin/true')
    const at = bytes.indexOf('/lib')
    const end = bytes.indexOf(0, at)
    expect(loader.length).toBeLessThanOrEqual(end - at)
    bytes.fill(0, at, end)
    bytes.write(loader, at)
    const place = path.join(scene.directory, 'tools/tool')
    mkdirSync(path.dirname(place), { recursive: true })
    writeFileSync(place, bytes, { mode: 0o755 })
    return bytes.toString('latin1', at, end)
  }
  const system = () => {
    const bytes = readFileSync('/bin/true')
    const at = bytes.indexOf('/lib')
    return bytes.toString('utf8', at, bytes.indexOf(0, at))
  }

  test('in a temporary directory is refused, and allowed by an exact entry of its own', async () => {
    const loader = `/tmp/l${process.pid}`
    copyFileSync(system(), loader)
    chmodSync(loader, 0o755)
    try {
      binaryWithLoader(loader)
      const command = path.join(scene.directory, 'tools/tool')
      const tried = (allowed: string[]) => runTool(scene, { command }, { policy: { processAllowlist: allowed } })
      for (const allowed of [['tool'], [command]]) {
        const outcome = await tried(allowed)
        expect(refusalOf(scene, outcome).rule).toBe('untrusted_program')
        expect(effectOf(scene, outcome).decision.reason).toContain(loader)
      }
      const outcome = await tried([command, loader])
      expect(outcome.state).toBe('succeeded')
      expect(effectOf(scene, outcome).binding['interpreter']).toMatchObject([{ path: loader }])
    } finally {
      rmSync(loader)
    }
  })

  test("the system's own is not listed, a relative one is refused", async () => {
    binaryWithLoader(system())
    const command = path.join(scene.directory, 'tools/tool')
    const outcome = await runTool(scene, { command })
    expect(effectOf(scene, outcome).binding['interpreter']).toBeUndefined()
    binaryWithLoader('./ld')
    expect((await runTool(scene, { command })).messages[0]).toContain('loader')
  })
})

test.each(['../tool', './sub/../tool', '/usr/bin/../bin/true', 'sub/..'])(
  'a command with a `..` component is refused: %s',
  async command => {
    putFile(scene, 'sub/keep', '')
    scriptTool('#!/bin/sh')
    const outcome = await runTool(scene, { command }, { policy: { processAllowlist: ['tool', 'true'] } })
    expect(outcome.state).toBe('denied')
    expect(effectOf(scene, outcome)).toMatchObject({ state: 'denied' })
    expect(JSON.stringify(effectOf(scene, outcome).decision)).toContain('parent_traversal')
  },
)

test.each([
  [1.863939273, 'longer than 1 s and'],
  [30, 'longer than 30 s and'],
  [0.2, 'longer than the less than 1 s that was left and'],
])('a time limit of %s s is told in whole seconds', (seconds, text) => {
  expect(resultOfEnd({ kind: 'timed_out', seconds }, null, false)).toMatchObject({
    code: 'timed_out',
    message: expect.stringContaining(text),
  })
})
