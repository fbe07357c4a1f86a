import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/**
 * One run of the command line on this system: a document is checked, planned and run, a process answers, another is ended
 * at its time. For the systems on which the whole suite is not run.
 */
const cli = path.join(import.meta.dirname, '../../cli/main.ts')
const directory = mkdtempSync(path.join(tmpdir(), 'agentctl-smoke-'))

function agentctl(...args: string[]): { status: number | null; text: string } {
  const ended = spawnSync(process.execPath, [cli, ...args], { cwd: directory, encoding: 'utf8', timeout: 60_000 })
  return { status: ended.status, text: `${ended.stdout}${ended.stderr}` }
}

function expect(what: string, { status, text }: ReturnType<typeof agentctl>, code: number, holds: string): void {
  if (status === code && text.includes(holds)) {
    console.log(`${what}: as expected`)
    return
  }
  console.error(`${what}: exit ${status} instead of ${code}, or without ${JSON.stringify(holds)}:\n${text}`)
  process.exitCode = 1
}

function document(name: string, script: string, timeoutSeconds: number): string {
  const spec = {
    policy: { approval: 'never', processAllowlist: [process.execPath] },
    actions: { tool: { kind: 'builtin.shell.exec', command: process.execPath, args: ['-e', script], timeoutSeconds } },
    tasks: [{ id: 'tool', uses: 'action:tool' }],
    outputs: { said: '${{ tasks.tool.output.stdout }}' },
  }
  const workflow = { apiVersion: 'agentctl.dev/v1', kind: 'Workflow', metadata: { name }, spec }
  writeFileSync(path.join(directory, `${name}.yaml`), JSON.stringify(workflow))
  return `${name}.yaml`
}

try {
  const speaks = document('speaks', 'console.log("smoke " + Object.keys(process.env).includes("PATH"))', 30)
  expect('check', agentctl('check', speaks), 0, '')
  expect('plan', agentctl('plan', speaks), 0, 'not a sandbox')
  expect('run', agentctl('run', speaks), 0, 'smoke false')
  expect('timeout', agentctl('run', document('stays', 'setInterval(() => {}, 1000)', 1)), 4, 'timed_out')
} finally {
  rmSync(directory, { recursive: true, force: true })
}
