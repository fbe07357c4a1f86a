import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { bundle, entries } from '../../build.ts'
import type { OtherUser } from './other-user.ts'

/** One job attempt as a runner starts it: a workspace, a RUNNER_TEMP and the command files, all new. */
export interface JobAttempt {
  workspace: string
  temp: string
  environment: Record<string, string>
  remove(): void
}

export interface JobEnd {
  exitCode: number | null
  signal: string | null
  log: string
  outputs: Record<string, string>
  summary: string
  /** What it left to its post step. */
  state: Record<string, string>
}

export function newJob(
  files: Record<string, string>,
  inputs: Record<string, string>,
  more: Record<string, string> = {},
): JobAttempt {
  const root = mkdtempSync(join(tmpdir(), 'agentctl job-'))
  const workspace = join(root, 'wörk')
  const temp = join(root, 'temp')
  for (const folder of [workspace, temp]) mkdirSync(folder)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true })
    writeFileSync(join(workspace, path), text)
  }
  for (const file of ['output', 'summary', 'state']) writeFileSync(join(root, file), '')
  const given = Object.entries(inputs).map(([name, text]) => [`INPUT_${name.toUpperCase()}`, text])
  const environment = {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    GITHUB_WORKSPACE: workspace,
    RUNNER_TEMP: temp,
    GITHUB_REPOSITORY: 'octo/app',
    GITHUB_SHA: 'a'.repeat(40),
    GITHUB_EVENT_NAME: 'push',
    GITHUB_JOB: 'gate',
    GITHUB_ACTION: '__self',
    GITHUB_ACTOR: 'alice',
    GITHUB_OUTPUT: join(root, 'output'),
    GITHUB_STEP_SUMMARY: join(root, 'summary'),
    GITHUB_STATE: join(root, 'state'),
    ...Object.fromEntries(given),
    ...more,
  }
  return { workspace, temp, environment, remove: () => rmSync(root, { recursive: true, force: true }) }
}

/** Runs the Action's entry to its end; `during` may act once a text has come, at once where that is empty. */
export async function runJob(
  entry: string,
  job: JobAttempt,
  during?: { text: string; act: (pid: number) => void },
  user: Pick<OtherUser, 'uid' | 'node'> | null = null,
): Promise<JobEnd> {
  const child = spawn(user?.node ?? process.execPath, [entry], {
    env: job.environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(user !== null && { uid: user.uid, gid: user.uid }),
  })
  let log = ''
  let acted = false
  const collect = (chunk: Buffer) => {
    log += chunk.toString()
    if (during === undefined || acted || child.pid === undefined || !log.includes(during.text)) return
    acted = true
    during.act(child.pid)
  }
  if (during?.text === '') collect(Buffer.alloc(0))
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  const [exitCode, signal] = await new Promise<[number | null, string | null]>(resolve =>
    child.on('close', (code, name) => resolve([code, name])),
  )
  const outputs = readOutputs(readFileSync(job.environment['GITHUB_OUTPUT'] ?? '', 'utf8'))
  const summary = readFileSync(job.environment['GITHUB_STEP_SUMMARY'] ?? '', 'utf8')
  const state = readOutputs(readFileSync(job.environment['GITHUB_STATE'] ?? '', 'utf8'))
  return { exitCode, signal, log, outputs, summary, state }
}

/** The post step as the runner starts it after main: the same variables, the state as STATE_*, a summary of its own. */
export function postOf(job: JobAttempt, state: Record<string, string>): JobAttempt {
  writeFileSync(job.environment['GITHUB_STEP_SUMMARY'] ?? '', '')
  const left = Object.fromEntries(Object.entries(state).map(([name, text]) => [`STATE_${name}`, text]))
  return { ...job, environment: { ...job.environment, ...left } }
}

/** As the runner reads the output file: NAME<<DELIMITER, lines, DELIMITER. */
export function readOutputs(text: string): Record<string, string> {
  const found: Record<string, string> = {}
  const lines = text.split('\n')
  while (lines.length > 1) {
    const [name = '', delimiter = ''] = (lines.shift() ?? '').split('<<')
    found[name] = lines.splice(0, lines.indexOf(delimiter)).join('\n')
    lines.shift()
  }
  return found
}

/** The Action built into a directory of its own, as `uses:` would find it. */
export async function builtAction(): Promise<{ folder: string; entry: string; post: string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'agentctl-action-'))
  await bundle(join(folder, 'dist'), { index: entries.index, post: entries.post })
  copyFileSync(join(import.meta.dirname, '../../action.yml'), join(folder, 'action.yml'))
  const [entry, post] = ['index', 'post'].map(name => join(folder, `dist/${name}.js`)) as [string, string]
  return { folder, entry, post, remove: () => rmSync(folder, { recursive: true }) }
}
