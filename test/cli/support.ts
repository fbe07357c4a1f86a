import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import type { Base } from '../../cli/command.ts'
import { runCli } from '../../cli/run-cli.ts'
import { systemIds } from '../../ledger/index.ts'

const root = path.resolve(import.meta.dirname, '../..')
const command = [process.execPath, path.join(root, 'cli/main.ts')]

/** A directory in which a person works at a terminal. */
export interface Desk {
  directory: string
  put(name: string, content: string | Uint8Array): string
  get(name: string): string | null
  /** Runs one command line in the directory, to its end. */
  cli(...argv: string[]): Promise<Ended>
  /** Runs one as a person pastes it into a POSIX shell, its words behind `agentctl`. */
  shell(words: string): Promise<Ended>
  /** Runs one as `cli` does and answers its exit code, stderr, and the seconds of processor time that it took. */
  timed(...argv: string[]): Promise<{ code: number | null; stderr: string; seconds: number }>
  /** Starts one and leaves it running. */
  start(...argv: string[]): Started
  dispose(): void
}

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface Started {
  process: ChildProcess
  ended: Promise<Ended>
}

export interface Envelope {
  apiVersion: string
  kind: string
  ok: boolean
  // biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect to stand in it
  data: any
  diagnostics: { code: string; severity: string; message: string; file: string; line: number; column: number }[]
}

export function createDesk(): Desk {
  // Outside every checkout: a commit made there meanwhile would be a changed commit to a resumed run.
  const directory = mkdtempSync(path.join(realpathSync(tmpdir()), 'agentctl desk '))
  const place = (name: string) => path.join(directory, name)
  const [program = '', ...main] = command
  const start = (...argv: string[]) => run(directory, program, [...main, ...argv])
  return {
    directory,
    put(name, content) {
      mkdirSync(path.dirname(place(name)), { recursive: true })
      writeFileSync(place(name), content)
      return place(name)
    },
    get: name => (existsSync(place(name)) ? readFileSync(place(name), 'utf8') : null),
    start,
    cli: (...argv) => start(...argv).ended,
    shell: words => run(directory, 'sh', ['-c', `"$0" "$1" ${words}`, ...command]).ended,
    async timed(...argv) {
      const { code, stderr } = await run(directory, 'bash', [
        '-c',
        'TIMEFORMAT="cpu %U %S"; time "$@"',
        '-',
        ...command,
        ...argv,
      ]).ended
      const [times = '', user = '', system = ''] = /cpu ([\d.]+) ([\d.]+)\n$/.exec(stderr) ?? []
      return { code, stderr: stderr.replace(times, ''), seconds: Number(user) + Number(system) }
    },
    dispose: () => rmSync(directory, { recursive: true, force: true }),
  }
}

function run(directory: string, program: string, argv: string[]): Started {
  const child = spawn(program, argv, {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '', HOME: directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const read = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      read[name] += text
    })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve({ code, ...read }))
  })
  return { process: child, ended }
}

/**
 * Runs a command line in this process, at a time of the caller's. With `answers` somebody sits at the terminal: each
 * question, by how it ends, is answered with its text, or by the end of the input for null.
 */
export async function cliAt(
  directory: string,
  time: string,
  argv: readonly string[],
  answers: { readonly [question: string]: string | null } | null = null,
): Promise<Ended> {
  const stdin = new PassThrough()
  const [stdout, stderr] = [collect(), collect()]
  for (const { stream } of [{ stream: stdin }, stdout, stderr]) Object.assign(stream, { isTTY: answers !== null })
  stderr.stream.on('data', (text: string) => {
    const question = Object.keys(answers ?? {}).find(ending => text.endsWith(ending))
    const answer = question === undefined ? undefined : answers?.[question]
    if (answer === null) stdin.end()
    else if (answer !== undefined) stdin.write(answer)
  })
  const code = await runCli([...argv], {
    directory,
    environment: {},
    user: 1234,
    stdin: stdin as unknown as Base['stdin'],
    stdout: stdout.stream as unknown as Base['stdout'],
    stderr: stderr.stream as unknown as Base['stderr'],
    clock: { now: () => new Date(time) },
    ids: systemIds,
  })
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

function collect(): { stream: PassThrough; text(): string } {
  let text = ''
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { hasColors: () => false })
  stream.on('data', (more: string) => {
    text += more
  })
  return { stream, text: () => text }
}

/** The one envelope of a command with `--output json`: on stdout where it succeeded, else on stderr, nothing beside it. */
export function envelopeOf({ code, stdout, stderr }: Ended): Envelope {
  const [full, empty] = code === 0 ? [stdout, stderr] : [stderr, stdout]
  if (empty !== '') throw new Error(`beside the envelope: ${empty}`)
  const envelope = JSON.parse(full) as Envelope
  if (envelope.apiVersion !== 'agentctl.dev/cli/v1' || envelope.ok !== (code === 0)) throw new Error(full)
  return envelope
}

/** A document's text, written as JSON, which is YAML. */
export function documentOf(spec: object): string {
  return JSON.stringify({ apiVersion: 'agentctl.dev/v1', kind: 'Workflow', metadata: { name: 'test' }, spec }, null, 2)
}

/** One write that a person must approve. */
export const gated = documentOf({
  policy: { writableRoots: ['out'], approval: 'mutations' },
  actions: { write: { kind: 'builtin.write' } },
  tasks: [{ id: 'gated', uses: 'action:write', with: { path: 'out/gated.txt', content: 'exactly this\n' } }],
})

/** One process of the given script, which nobody needs to approve. */
export function script(text: string, more: object = {}): string {
  return documentOf({
    policy: { writableRoots: ['out'], processAllowlist: ['sh'], approval: 'never' },
    actions: { script: { kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', text] } },
    tasks: [{ id: 'script', uses: 'action:script' }],
    ...more,
  })
}
