import { createHash } from 'node:crypto'
import { cpSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { planOf } from '../document/support.ts'
import { createScene, putFile, type Scene, start } from '../runner/support.ts'

const examples = path.resolve(import.meta.dirname, '../../examples/extension')
const text = readFileSync(path.join(examples, 'checksum.yaml'), 'utf8')

let scene: Scene
beforeEach(() => {
  scene = createScene()
  cpSync(examples, path.join(scene.workspace, 'examples/extension'), { recursive: true })
})
afterEach(() => scene.dispose())

test('the example gives the checksum of a file', async () => {
  putFile(scene, 'LICENSE', 'some text\n')
  const outcome = await start(scene, planOf(text))
  const sha256 = createHash('sha256').update('some text\n').digest('hex')
  expect(outcome).toMatchObject({ state: 'succeeded', outputs: { sha256 } })
})

test('it refuses a path that its schema does not let through, and its task an empty file', async () => {
  putFile(scene, 'empty', '')
  const outside = await start(scene, planOf(text, { inputs: { file: '"; id' } }))
  expect(outside.messages[0]).toContain('invalid_input')
  const empty = await start(scene, planOf(text, { inputs: { file: 'empty' } }))
  expect(empty.messages[0]).toContain('output_schema')
})

test('a file that is not there leaves it uncertain: it was invoked', async () => {
  expect(await start(scene, planOf(text, { inputs: { file: 'none' } }))).toMatchObject({ state: 'uncertain' })
})
