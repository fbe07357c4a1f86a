import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { documentOf } from '../cli/support.ts'
import { type BuiltCli, buildCli } from '../process-policy/built-cli.ts'

/** A helper belongs to its effect: what ends the one ends the other. */
let built: BuiltCli
let directory: string
beforeAll(async () => {
  built = await buildCli()
})
afterAll(() => built.remove())
beforeEach(() => {
  const cache = path.join(userInfo().homedir, '.cache')
  mkdirSync(cache, { recursive: true })
  directory = mkdtempSync(path.join(cache, 'agentctl-helper-'))
  writeFileSync(
    at('flow.yaml'),
    documentOf({
      policy: {
        approval: 'never',
        processAllowlist: ['sh'],
        secretProcessAllowlist: ['sh'],
        environmentAllowlist: ['V'],
      },
      actions: {
        use: {
          kind: 'builtin.shell.exec',
          command: '/bin/sh',
          args: ['-c', 'touch used'],
          env: { V: { process: { command: '/bin/sh', args: ['-c', waiting], timeoutSeconds: 60 } } },
        },
      },
      tasks: [{ id: 'one', uses: 'action:use' }],
    }),
  )
})
afterEach(() => {
  if (existsSync(at('pid'))) end(Number(readFileSync(at('pid'), 'utf8')))
  rmSync(directory, { recursive: true, force: true })
})

const at = (name: string) => path.join(directory, name)
/** Leaves its group, says who it is, and stays. */
const waiting =
  "setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 77' < /dev/null > /dev/null 2>&1 & echo not-the-whole-value; exec sleep 77"

async function startAndWait() {
  const child = spawn(process.execPath, [path.join(built.folder, 'cli.js'), 'run', 'flow.yaml'], {
    cwd: directory,
    env: { HOME: directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  while (!existsSync(at('pid')) && child.exitCode === null) await sleep(20)
  return { child, pid: Number(readFileSync(at('pid'), 'utf8')), said: () => said }
}

/** Ends what a failed test left. */
function end(pid: number): void {
  try {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  } catch {
    // Gone meanwhile.
  }
}

function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

test('agentctl is asked to end while it waits for a helper: nobody is left, nothing ran, the run is cancelled', async () => {
  const { child, pid, said } = await startAndWait()
  expect(isAlive(pid)).toBe(true)
  child.kill('SIGTERM')
  await once(child, 'close')
  expect(child.exitCode, said()).toBe(130)
  expect(isAlive(pid)).toBe(false)
  expect(existsSync(at('used'))).toBe(false)
  expect(said()).not.toContain('not-the-whole-value')
})

test('agentctl is killed while it waits: the next start ends what is left, and the effect is uncertain', async () => {
  const { child, pid, said } = await startAndWait()
  child.kill('SIGKILL')
  await once(child, 'close')
  const trail = (await built.run(directory, { HOME: directory }, ['audit', 'export'])).stdout
  const run = /"run":"([0-9a-f-]{36})"/.exec(trail)?.[1] ?? ''
  const resumed = await built.run(directory, { HOME: directory }, ['resume', run, '--output', 'json'])
  expect(isAlive(pid)).toBe(false)
  expect(existsSync(at('used')), said()).toBe(false)
  expect(resumed.code, resumed.stderr).toBe(4)
  expect(resumed.stderr + resumed.stdout).toMatch(/uncertain/)
  expect(execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' })).not.toMatch(/^sleep 77$/m)
})
