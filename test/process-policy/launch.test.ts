import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createScene, putFile, type Scene } from '../runner/support.ts'
import { prepareTool, startTool } from './tool.ts'

/** Between the digest and the launch (03: the file that was hashed is the file that runs). */
let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const tool = () => path.join(scene.workspace, 'tool')
const witness = () => path.join(scene.directory, 'witness')

function script(text: string): string {
  return `#!/bin/sh\n: > "${witness()}.${text}"\necho ${text}\n`
}

function place(content: string | null): void {
  if (content === null) copyFileSync('/bin/true', tool())
  else writeFileSync(tool(), content)
  chmodSync(tool(), 0o755)
}

const prepare = () => prepareTool(scene, { command: './tool' })

describe('swapped by a rename after it was hashed: what was hashed runs', () => {
  test('a script', async () => {
    place(script('first'))
    const prepared = await prepare()
    writeFileSync(`${tool()}.new`, script('second'), { mode: 0o755 })
    renameSync(`${tool()}.new`, tool())
    expect(await startTool(prepared)).toMatchObject({ kind: 'succeeded', output: { stdout: 'first\n' } })
    expect(existsSync(`${witness()}.second`)).toBe(false)
  })

  test('a binary', async () => {
    place(null)
    const prepared = await prepare()
    copyFileSync('/bin/false', `${tool()}.new`)
    chmodSync(`${tool()}.new`, 0o755)
    renameSync(`${tool()}.new`, tool())
    expect(await startTool(prepared)).toMatchObject({ kind: 'succeeded', output: { exitCode: 0 } })
    expect(await startTool(await prepare())).toMatchObject({ kind: 'failed', code: 'non_zero_exit' })
  })
})

describe('written in place after it was hashed: executable_changed, nothing runs', () => {
  const writes: [name: string, write: (place: string) => void][] = [
    ['truncated and written', place => writeFileSync(place, script('second'))],
    [
      'one byte, its times put back',
      place => {
        const { atime, mtime } = statSync(place)
        const fd = openSync(place, 'r+')
        writeSync(fd, '#!/bin/sh\nexit 1', 0)
        closeSync(fd)
        utimesSync(place, atime, mtime)
      },
    ],
    ['emptied', place => writeFileSync(place, '')],
  ]
  test.each(writes)('%s', async (_, write) => {
    place(script('first'))
    const prepared = await prepare()
    write(tool())
    expect(await startTool(prepared)).toMatchObject({
      kind: 'failed',
      code: 'executable_changed',
      retrySafe: true,
      message: expect.stringContaining(tool()),
    })
    for (const text of ['first', 'second']) expect(existsSync(`${witness()}.${text}`)).toBe(false)
  })

  test('a digest that was cached long before does not hide it', async () => {
    // Outside the workspace and older than a second, so that its digest is kept.
    const kept = path.join(scene.directory, 'tools/tool')
    mkdirSync(path.dirname(kept))
    copyFileSync('/bin/true', kept)
    chmodSync(kept, 0o755)
    const look = () => prepareTool(scene, { command: kept })
    const settled = Date.now() + 1_100
    while (Date.now() < settled) await new Promise(resolve => setTimeout(resolve, settled - Date.now()))
    ;(await look()).close()
    const prepared = await look()
    const { atime, mtime } = statSync(kept)
    writeFileSync(kept, script('second'))
    utimesSync(kept, atime, mtime)
    expect(await startTool(prepared)).toMatchObject({ code: 'executable_changed' })
  })
})

test('its working directory moved away meanwhile: cwd_changed, nothing runs', async () => {
  putFile(scene, 'here/tool', script('first'))
  chmodSync(path.join(scene.workspace, 'here/tool'), 0o755)
  const prepared = await prepareTool(scene, { command: './tool', cwd: 'here' })
  renameSync(path.join(scene.workspace, 'here'), path.join(scene.workspace, 'there'))
  mkdirSync(path.join(scene.workspace, 'here'))
  expect(await startTool(prepared)).toMatchObject({ kind: 'failed', code: 'cwd_changed' })
  expect(existsSync(`${witness()}.first`)).toBe(false)
})
