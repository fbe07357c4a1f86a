import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'

/** A cancel whose end does not come in time: here the time, 4.5 s, is made shorter than the grace of a deaf child. */
const shorter = `const real = setTimeout
globalThis.setTimeout = (call, delay, ...rest) => real(call, delay === 4500 ? 50 : delay, ...rest)
`
const document = `apiVersion: agentctl.dev/v1
kind: Workflow
metadata: { name: flow }
spec:
  policy: { processAllowlist: [sh], approval: never }
  actions:
    run: { kind: builtin.shell.exec, command: /bin/sh, args: [-c, 'trap "" TERM; touch begun; while :; do sleep 1; done'] }
  tasks:
    - { id: run, uses: "action:run" }
`

const places: string[] = []
afterEach(() => {
  for (const place of places.splice(0)) rmSync(place, { recursive: true, force: true })
})

/** Runs the document, cancels it once its child runs. */
async function cancelled(signal: NodeJS.Signals, preload: string, ...options: string[]) {
  const place = mkdtempSync(path.join(tmpdir(), 'agentctl-overdue-'))
  places.push(place)
  writeFileSync(path.join(place, 'flow.yaml'), document)
  writeFileSync(path.join(place, 'preload.mjs'), preload)
  const main = path.join(import.meta.dirname, '../../cli/main.ts')
  const child = spawn(process.execPath, ['--import', './preload.mjs', main, 'run', 'flow.yaml', ...options], {
    cwd: place,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = Promise.all([text(child.stdout), text(child.stderr)])
  const closed = once(child, 'close')
  while (!existsSync(path.join(place, 'begun')) && child.exitCode === null) await sleep(10)
  child.kill(signal)
  const [code] = await closed
  const [stdout, stderr] = await printed
  return { code, stdout, stderr }
}

test('as JSON it is one envelope all the same', async () => {
  const { code, stdout, stderr } = await cancelled('SIGINT', shorter, '--output', 'json')
  expect([code, stdout, stderr.split('\n').length]).toEqual([130, '', 2])
  expect(JSON.parse(stderr)).toMatchObject({
    kind: 'Failure',
    ok: false,
    diagnostics: [{ code: 'cancelled', message: expect.stringContaining('could not be recorded in time') }],
  })
})

test('a person is told what to do', async () => {
  const { code, stderr } = await cancelled('SIGINT', shorter)
  expect(code).toBe(130)
  expect(stderr).toContain('could not be recorded in time')
  expect(stderr).toContain('agentctl inspect')
})

test('SIGQUIT is a cancel; where the end comes in time it is the envelope of the run, once', async () => {
  const { code, stdout, stderr } = await cancelled('SIGQUIT', '', '--output', 'json')
  expect([code, stdout, stderr.split('\n').length]).toEqual([130, '', 2])
  expect(JSON.parse(stderr)).toMatchObject({ kind: 'RunOutcome', data: { state: 'uncertain' } })
})
