import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import type { RunOutcome } from '../../runner/index.ts'
import { effectOf, refusalOf, runTool, sh, type ToolSettings } from '../process-policy/tool.ts'
import type { Scene } from '../runner/support.ts'

export const value = 'correct-horse-battery'

/** Writes the value's bytes in hexadecimal: what arrived is seen, and is not what is hidden. */
const hex = 'printf %s "$V" | od -v -An -tx1 | tr -d " \\n"'
export const hexOf = (text: string) => Buffer.from(text).toString('hex')

/** Runs one process whose only variable is the reference, with everything allowed that its test does not take back. */
export function give(scene: Scene, reference: JsonObject, settings: ToolSettings = {}): Promise<RunOutcome> {
  return runTool(scene, sh(hex, { env: { V: reference } }), settings)
}

/** A file of the workspace with any bytes. */
export function putBytes(scene: Scene, name: string, content: string | Uint8Array): string {
  const place = path.join(scene.workspace, name)
  mkdirSync(path.dirname(place), { recursive: true })
  writeFileSync(place, content)
  return place
}

/** Fails unless the run was denied by that rule, about the variable, with a remedy; gives the reason. */
export function expectRefused(scene: Scene, outcome: RunOutcome, rule: string): string {
  expect(outcome).toMatchObject({ state: 'denied', exitCode: 3 })
  const refusal = refusalOf(scene, outcome)
  expect(refusal).toMatchObject({ rule, subject: 'V' })
  expect(refusal.remedy).not.toBe('')
  return effectOf(scene, outcome).decision.reason
}

/** Fails where a file below the directory holds the text. */
export function expectNowhere(directory: string, text: string): void {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  for (const { parentPath, name } of files)
    expect(readFileSync(path.join(parentPath, name)).includes(text) ? `${name} holds it` : '').toBe('')
}

/** Fails where the scene's ledger holds the text. */
export function expectUnrecorded(scene: Scene, text: string): void {
  const files = readdirSync(scene.directory).filter(name => name.startsWith('ledger.db'))
  expect(files.length).toBeGreaterThan(0)
  for (const name of files)
    expect(readFileSync(path.join(scene.directory, name)).includes(text) ? `${name} holds it` : '').toBe('')
}
