import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Annotations } from '../../action/annotations.ts'
import { Guard } from '../../action/guard.ts'
import { JobLog } from '../../action/job-log.ts'
import { writeOutputs } from '../../action/outputs.ts'
import { Progress } from '../../action/progress.ts'
import { type ActionBase, runAction } from '../../action/run.ts'
import { StepState } from '../../action/state.ts'
import { systemClock, systemIds } from '../../ledger/index.ts'
import { commandReader, parseKeyValues } from '../github/runner/commands.ts'
import { flow, isGone, shell, there, until } from './documents.ts'
import { FakePace } from './fake-pace.ts'
import { builtAction, type JobAttempt, newJob, runJob } from './job.ts'
import { type OtherUser, otherUser } from './other-user.ts'

/** Failures reported in public of systems like ours, as far as they are the Action's. */
let action: Awaited<ReturnType<typeof builtAction>>
let user: OtherUser | null
beforeAll(async () => {
  action = await builtAction()
  user = otherUser(61_204, action.folder)
})
afterAll(() => {
  user?.remove()
  action.remove()
})

const jobs: JobAttempt[] = []
afterEach(() => {
  for (const job of jobs.splice(0)) job.remove()
})

function newAttempt(files: Record<string, string>, inputs: Record<string, string>): JobAttempt {
  const job = newJob(files, inputs)
  jobs.push(job)
  return job
}

/** What a runner reads as annotations in a log. */
function annotationsIn(log: string): string[] {
  const found: string[] = []
  const read = commandReader({ annotation: ({ message }) => void found.push(message), mask: () => {} })
  for (const line of log.split('\n')) read(line)
  return found
}

describe('case 22: a step that is silent for six minutes', () => {
  const before = { ...process.env }
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  })

  test('is told six times and is not lost', async () => {
    const job = newAttempt(
      { 'flow.yaml': shell('touch there; while [ ! -e go ]; do sleep 0.02; done') },
      { workflow: 'flow.yaml' },
    )
    Object.assign(process.env, job.environment)
    let written = ''
    const log = new JobLog(text => {
      written += text
    })
    const pace = new FakePace()
    const annotations = new Annotations(log, text => text)
    const base: ActionBase = {
      environment: job.environment,
      clock: systemClock,
      ids: systemIds,
      log,
      guard: new Guard(log),
      annotations,
      progress: new Progress(log, annotations, pace),
      state: new StepState(() => {}),
      signal: new AbortController().signal,
    }
    const read = (name: string) => job.environment[`INPUT_${name.toUpperCase()}`] ?? ''
    const ending = runAction(base, read)
    await there(join(job.workspace, 'there'))
    pace.advance(6 * 60_000)
    expect(written.match(/^run still running, \d min$/gm)).toEqual(
      [1, 2, 3, 4, 5, 6].map(minutes => `run still running, ${minutes} min`),
    )
    writeFileSync(join(job.workspace, 'go'), '')
    expect(await ending).toBe(0)
    expect(parseKeyValues(readFileSync(job.environment['GITHUB_OUTPUT'] ?? '', 'utf8'))).toMatchObject({
      status: 'succeeded',
    })
  })
})

test('case 26: SIGHUP instead of SIGINT on cancel', async () => {
  const job = newAttempt({ 'flow.yaml': shell('echo $$ > pid; sleep 600; true') }, { workflow: 'flow.yaml' })
  const pid = join(job.workspace, 'pid')
  const act = async (main: number) => {
    await until(() => existsSync(pid) && readFileSync(pid, 'utf8').endsWith('\n'), 'the child')
    process.kill(main, 'SIGHUP')
  }
  const end = await runJob(action.entry, job, { text: 'started', act: main => void act(main) })
  expect(end).toMatchObject({ exitCode: 130, outputs: { status: 'uncertain' }, state: { concluded: 'true' } })
  expect(isGone(Number(readFileSync(pid, 'utf8')))).toBe(true)
})

describe('case 27: odd names and values in outputs are data, never syntax', () => {
  const odd = [
    'a\nstatus=succeeded',
    'x\r\nexit-code<<EOF\n0\nEOF',
    '-x',
    '$(touch pwned) `touch pwned`',
    '${{ github.token }}',
    '::set-output name=status::succeeded',
    'ghadelimiter_0',
    '<<EOF',
  ]

  test('a run’s outputs come out as they went in, and no other output is touched', async () => {
    const names = odd.map((_, index) => `v${index}`)
    const document = flow(`  inputs: { ${names.map(name => `${name}: ""`).join(', ')} }
  outputs: { ${names.map(name => `${name}: "\${{ inputs.${name} }}"`).join(', ')} }
  actions: { keep: { kind: builtin.assign } }
  tasks: [{ id: keep, uses: "action:keep", with: {} }]
`)
    const values = Object.fromEntries(odd.map((text, index) => [`v${index}`, text]))
    const job = newAttempt({ 'flow.yaml': document }, { workflow: 'flow.yaml', inputs: JSON.stringify(values) })
    const end = await runJob(action.entry, job)
    expect(end, end.log).toMatchObject({ exitCode: 0 })
    const outputs = parseKeyValues(readFileSync(job.environment['GITHUB_OUTPUT'] ?? '', 'utf8'))
    expect(Object.keys(outputs).sort()).toEqual(Object.keys(end.outputs).sort())
    expect(outputs).toMatchObject({ status: 'succeeded', 'exit-code': '0' })
    expect(JSON.parse(outputs['outputs'] ?? '')).toEqual(values)
    expect(existsSync(join(job.workspace, 'pwned'))).toBe(false)
  })

  test.each(odd)('%j in every output', text => {
    const folder = mkdtempSync(join(tmpdir(), 'agentctl-odd-'))
    const file = join(folder, 'output')
    writeFileSync(file, '')
    const before = process.env['GITHUB_OUTPUT']
    process.env['GITHUB_OUTPUT'] = file
    try {
      writeOutputs({
        status: 'failed',
        exitCode: 4,
        run: text,
        planDigest: text,
        outputs: { [text]: text },
        pause: null,
        issue: { number: 1, url: text },
        auditUrl: text,
        head: text,
        messages: [],
        concluded: true,
      })
      const normal = text.replaceAll('\r\n', '\n')
      expect(parseKeyValues(readFileSync(file, 'utf8'))).toEqual({
        status: 'failed',
        'exit-code': '4',
        'run-id': normal,
        'plan-digest': normal,
        'approval-issue-number': '1',
        'approval-issue-url': normal,
        outputs: JSON.stringify({ [text]: text }),
        'audit-url': normal,
        'audit-head': normal,
      })
    } finally {
      if (before === undefined) delete process.env['GITHUB_OUTPUT']
      else process.env['GITHUB_OUTPUT'] = before
      rmSync(folder, { recursive: true })
    }
  })

  test('a file with a newline in its name and one named -x are written and told as what they are', async () => {
    const document = flow(`  policy: { writableRoots: [out], processAllowlist: [sh], approval: never }
  outputs: { paths: ["\${{ tasks.odd.output.path }}", "\${{ tasks.dash.output.path }}"] }
  actions:
    write: { kind: builtin.write }
    list: { kind: builtin.shell.exec, command: /bin/sh, args: [-c, "ls -- \\"$@\\"", sh, -x], cwd: out }
  tasks:
    - { id: odd, uses: "action:write", with: { path: "out/a\\n::error::x", content: one } }
    - { id: dash, uses: "action:write", needs: [odd], with: { path: out/-x, content: two } }
    - { id: list, uses: "action:list", needs: [dash] }
`)
    const job = newAttempt({ 'flow.yaml': document, 'out/.keep': '' }, { workflow: 'flow.yaml' })
    const end = await runJob(action.entry, job)
    expect(end, end.log).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
    expect(JSON.parse(end.outputs['outputs'] ?? '')).toEqual({ paths: ['out/a\n::error::x', 'out/-x'] })
    expect(annotationsIn(end.log)).toEqual([])
  })
})

describe('case 28: a host without a user called runner', () => {
  /** No HOME, no USER, no LOGNAME; a workspace with spaces and letters beyond ASCII. */
  async function onOddHost(document: string) {
    const job = newAttempt(
      { 'flöw dir/ein dokument.yaml': document },
      { workflow: 'flöw dir/ein dokument.yaml', 'working-directory': 'flöw dir' },
    )
    mkdirSync(join(job.workspace, 'flöw dir', 'aus gabe'))
    user?.give(job)
    chmodSync(action.folder, 0o755)
    expect(job.environment).not.toHaveProperty('HOME')
    expect(job.workspace).toMatch(/ .*ö/)
    return { job, end: await runJob(action.entry, job, undefined, user) }
  }

  test('HOME is unset, the workspace has spaces and non-ASCII letters: writes and processes work', async () => {
    const { job, end } = await onOddHost(
      flow(`  policy: { writableRoots: ["aus gabe"], processAllowlist: [sh], approval: never }
  outputs: { where: "\${{ tasks.look.output.stdout }}" }
  actions:
    write: { kind: builtin.write }
    look: { kind: builtin.shell.exec, command: /bin/sh, args: [-c, 'pwd -P; id -u; cat "grüße 大.txt"; echo "\${HOME-unset}"'], cwd: "aus gabe" }
  tasks:
    - { id: write, uses: "action:write", with: { path: "aus gabe/grüße 大.txt", content: "hallo\\n" } }
    - { id: look, uses: "action:look", needs: [write] }
`),
    )
    expect(end, end.log).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
    const uid = user?.uid ?? process.getuid?.()
    const where = `${join(job.workspace, 'flöw dir', 'aus gabe')}\n${uid}\nhallo\nunset\n`
    expect(JSON.parse(end.outputs['outputs'] ?? '')).toEqual({ where })
  })

  test('a denial is annotated at the document’s path as the repository has it', async () => {
    const { end } = await onOddHost(
      flow(`  policy: { writableRoots: [out] }
  actions: { write: { kind: builtin.write } }
  tasks:
    - { id: write, uses: "action:write", with: { path: /etc/x, content: x } }
`),
    )
    expect(end).toMatchObject({ exitCode: 3, outputs: { status: 'denied' } })
    expect(end.log).toMatch(/^::error title=write denied,file=flöw dir\/ein dokument\.yaml,line=8,col=7::/m)
  })
})
