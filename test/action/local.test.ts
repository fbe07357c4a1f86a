import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { builtAction, type JobAttempt, newJob, runJob } from './job.ts'

/** The built Action, started as a runner starts it, without a control plane. */
let action: Awaited<ReturnType<typeof builtAction>>
beforeAll(async () => {
  action = await builtAction()
})
afterAll(() => action.remove())

const jobs: JobAttempt[] = []
afterEach(() => {
  for (const job of jobs.splice(0)) job.remove()
})

function job(
  document: string,
  more: { inputs?: Record<string, string>; environment?: Record<string, string> } = {},
): JobAttempt {
  const created = newJob({ 'flow.yaml': document }, { workflow: 'flow.yaml', ...more.inputs }, more.environment)
  jobs.push(created)
  return created
}

const flow = (spec: string) => `apiVersion: agentctl.dev/v1\nkind: Workflow\nmetadata: { name: flow }\nspec:\n${spec}`
const writing = (approval: string, path = 'out/a.txt') =>
  flow(`  inputs: { text: default }
  outputs: { path: "\${{ tasks.write.output.path }}" }
  policy: { writableRoots: [out], approval: ${approval} }
  actions: { write: { kind: builtin.write } }
  tasks:
    - id: write
      uses: action:write
      with: { path: ${path}, content: "\${{ inputs.text }}" }
`)
const shell = (script: string, more = '') =>
  flow(`  policy: { processAllowlist: [sh], approval: never, environmentAllowlist: [CHILD_TOKEN, JOB_TOKEN] }
  actions:
    run: { kind: builtin.shell.exec, command: /bin/sh, args: [-c, ${JSON.stringify(script)}]${more} }
  tasks:
    - { id: run, uses: "action:run" }
`)

test('what is allowed runs: outputs, summary, exit 0', async () => {
  const attempt = job(writing('never'), { inputs: { inputs: '{"text": "given"}' } })
  const end = await runJob(action.entry, attempt)
  expect(end).toMatchObject({
    exitCode: 0,
    outputs: { status: 'succeeded', 'exit-code': '0', outputs: '{"path":"out/a.txt"}' },
  })
  expect(readFileSync(join(attempt.workspace, 'out/a.txt'), 'utf8')).toBe('given')
  expect(end.outputs['plan-digest']).toMatch(/^[0-9a-f]{64}$/)
  expect(end.outputs['audit-head']).toMatch(/^[0-9a-f]{64}$/)
  expect(end.summary).toContain('| write ')
  expect(end.summary).toContain(end.outputs['audit-head'])
})

test('working-directory is the workspace of the run', async () => {
  const attempt = newJob(
    { 'flow.yaml': writing('never'), 'sub/x': '' },
    { workflow: 'flow.yaml', 'working-directory': 'sub' },
  )
  jobs.push(attempt)
  expect(await runJob(action.entry, attempt)).toMatchObject({ exitCode: 0 })
  expect(existsSync(join(attempt.workspace, 'sub/out/a.txt'))).toBe(true)
})

test.each([
  ['the document and its files in the workspace', '.', '.agentctl/flow.yaml', '.agentctl/vars.yaml'],
  ['both below the working directory', 'sub', 'sub/flows/flow.yaml', 'sub/flows/vars.yaml'],
  ['both outside the working directory', 'sub', '.agentctl/flow.yaml', '.agentctl/vars.yaml'],
])('varsFiles lie beside the document: %s', async (_, directory, workflow, varsFile) => {
  const document = `apiVersion: agentctl.dev/v1
kind: Workflow
metadata: { name: local }
spec:
  varsFiles: [vars.yaml]
  policy: { writableRoots: [.], approval: never }
  actions: { write: { kind: builtin.write } }
  tasks:
    - id: write
      uses: action:write
      with: { path: out.txt, content: "\${{ vars.greeting }}" }
`
  const attempt = newJob(
    { [workflow]: document, [varsFile]: 'greeting: from the file', 'sub/x': '' },
    { workflow, 'working-directory': directory },
  )
  jobs.push(attempt)
  expect(await runJob(action.entry, attempt)).toMatchObject({ exitCode: 0 })
  expect(readFileSync(join(attempt.workspace, directory, 'out.txt'), 'utf8')).toBe('from the file')
})

test.each([
  ['inside the working directory', 'sub/flows/flow.yaml', 'sub/flows/vars.yaml'],
  ['outside the working directory', '.agentctl/flow.yaml', '.agentctl/vars.yaml'],
])('findings are annotated where the repository has the file: %s', async (_, workflow, varsFile) => {
  const document = flow(`  varsFiles: [vars.yaml]
  policy: { writableRoots: [.], approval: never }
  actions: { write: { kind: builtin.write } }
  tasks:
    - { id: write, uses: "action:write", with: { path: a, content: "\${{ vars.greeting }}" } }
`)
  const broken = newJob(
    { [workflow]: document, [varsFile]: 'greeting: [', 'sub/x': '' },
    { workflow, 'working-directory': 'sub' },
  )
  jobs.push(broken)
  const end = await runJob(action.entry, broken)
  expect(end.exitCode).toBe(2)
  expect(end.log).toMatch(new RegExp(`^::error title=yaml_syntax,file=${varsFile},line=1,col=12::`, 'm'))
  expect(end.log).toMatch(new RegExp(`^::error title=invalid_template,file=${workflow},line=9,`, 'm'))
})

test('the summary tells the rules that let an effect pass, and how a process was held', async () => {
  const end = await runJob(action.entry, job(shell('true')))
  expect(end.exitCode).toBe(0)
  expect(end.log).toMatch(/^run: allow: processAllowlist \S+ \(document\); approval never \(document\)$/m)
  expect(end.summary).toMatch(/^\| run \|.*allow&#58; processAllowlist/m)
  expect(end.summary.match(/not a sandbox/g)).toHaveLength(1)
  expect(end.summary).toMatch(/^- run&#58; containment (cgroup|best-effort)/m)
})

test('a pause opens no issue, exits 3 and says that it cannot outlive the job', async () => {
  const attempt = job(writing('mutations'))
  const end = await runJob(action.entry, attempt)
  expect(end).toMatchObject({
    exitCode: 3,
    outputs: { status: 'paused', 'exit-code': '3', 'approval-issue-number': '' },
  })
  expect(end.log).toContain('cannot outlive the job')
  expect(end.log).toContain('::notice title=waiting for approval')
  expect(end.summary).toContain('### Approvals')
  expect(existsSync(join(attempt.workspace, 'out/a.txt'))).toBe(false)
})

test('on-pause succeed leaves the step green and warns', async () => {
  const end = await runJob(
    action.entry,
    job(writing('mutations'), { inputs: { 'on-pause': 'succeed', 'resume-with': 'workflow_dispatch' } }),
  )
  expect(end).toMatchObject({ exitCode: 0, outputs: { status: 'paused', 'exit-code': '3' } })
  expect(end.log).toMatch(/::warning .*nothing was approved/)
})

test('a denial exits 3 with an annotation at the task’s line', async () => {
  const attempt = job(writing('never', '.github/workflows/x.yml'))
  const end = await runJob(action.entry, attempt)
  expect(end).toMatchObject({ exitCode: 3, outputs: { status: 'denied' } })
  expect(end.log).toMatch(/::error title=write denied,file=flow\.yaml,line=\d+/)
  expect(existsSync(join(attempt.workspace, '.github'))).toBe(false)
})

test('a broken document exits 2 with each finding at its line', async () => {
  const end = await runJob(action.entry, job(flow('  polcy: {}\n  tasks:\n    - id: a\n      uses: action:missing\n')))
  expect(end).toMatchObject({ exitCode: 2, outputs: { status: 'failed', 'exit-code': '2' } })
  expect(end.log).toMatch(/::error title=schema_violation,file=flow\.yaml,line=5/)
  expect(end.summary).toContain('failed')
})

test('eleven findings are ten annotations and a line of the log', async () => {
  const tasks = Array.from({ length: 11 }, (_, index) => `    - { id: t${index}, uses: "action:missing" }\n`).join('')
  const end = await runJob(action.entry, job(flow(`  tasks:\n${tasks}`)))
  expect(end.log.match(/^::error /gm)).toHaveLength(10)
  expect(end.log).toMatch(/^error: flow\.yaml:\d+:\d+ /m)
})

test.each<[string, Record<string, string>, Record<string, string>, RegExp]>([
  ['a missing document', { workflow: 'missing.yaml' }, {}, /missing\.yaml cannot be read \(ENOENT\)/],
  ['a wrong input', { 'minimum-approvals': 'two' }, {}, /input minimum-approvals/],
  ['no job', {}, { GITHUB_REPOSITORY: '' }, /GITHUB_REPOSITORY/],
  ['no OIDC token', { 'control-plane-url': 'https://x.example' }, {}, /id-token: write/],
])('%s: exit 2, named', async (_, inputs, environment, text) => {
  const end = await runJob(action.entry, job(writing('never'), { inputs, environment }))
  expect(end).toMatchObject({ exitCode: 2, outputs: { status: 'failed' } })
  expect(end.log).toMatch(text)
})

describe('what others wrote in the log', () => {
  test('commands in child output are fenced', async () => {
    const end = await runJob(
      action.entry,
      job(shell('echo "::error::forged"; echo "##[set-env name=A]b"; echo "::set-output name=a::b"')),
    )
    expect(end.exitCode).toBe(0)
    const [, token = ''] = /^::stop-commands::([0-9a-f]{48})$/m.exec(end.log) ?? []
    const forged = end.log.indexOf('::error::forged')
    expect(forged).toBeGreaterThan(end.log.indexOf(`::stop-commands::${token}`))
    expect(forged).toBeLessThan(end.log.indexOf(`\n::${token}::`))
  })

  test('a secret that the plan reads is masked and nowhere shown', async () => {
    const secret = 'hunter-twenty-two'
    const echo = shell(
      'echo "got $CHILD_TOKEN"; echo "$CHILD_TOKEN" | base64; exit 3',
      ', env: { CHILD_TOKEN: { env: JOB_TOKEN } }',
    )
    const end = await runJob(action.entry, job(echo, { environment: { JOB_TOKEN: secret } }))
    expect(end.exitCode).toBe(4)
    expect(end.log).toContain(`::add-mask::${secret}`)
    const shown = end.log.replaceAll(`::add-mask::${secret}`, '') + end.summary + JSON.stringify(end.outputs)
    expect(shown).not.toContain(secret)
    expect(shown).not.toContain(Buffer.from(`${secret}\n`).toString('base64'))
  })
})

/** No such process, or one that only waits for its new parent to take note. */
function isGone(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s: the child is gone, the end is recorded, exit 130 within 5 s',
  async signal => {
    const attempt = job(shell('echo started; echo $$ > pid; sleep 600'))
    let sent = 0
    const end = await runJob(action.entry, attempt, {
      text: 'run (builtin.shell.exec)',
      act: pid => {
        const ready = setInterval(() => {
          if (!existsSync(join(attempt.workspace, 'pid'))) return
          clearInterval(ready)
          sent = performance.now()
          process.kill(pid, signal)
        }, 10)
      },
    })
    expect(performance.now() - sent).toBeLessThan(5_000)
    // What a stopped process did before it was stopped is not known: the run is uncertain, and says how to reconcile it.
    expect(end).toMatchObject({ exitCode: 130, outputs: { status: 'uncertain', 'exit-code': '130' } })
    expect(end.log).toContain('effects reconcile')
    const child = Number(readFileSync(join(attempt.workspace, 'pid'), 'utf8'))
    expect(isGone(child)).toBe(true)
  },
)

test.each(['/proc', '/dev/null', '/proc/missing'])(
  'a ledger below %s cannot be written: exit 5, what to do',
  async temp => {
    const end = await runJob(action.entry, job(writing('never'), { environment: { RUNNER_TEMP: temp } }))
    expect(end).toMatchObject({ exitCode: 5, outputs: { status: 'failed', 'exit-code': '5' } })
    expect(end.log).toMatch(/RUNNER_TEMP/)
  },
)
