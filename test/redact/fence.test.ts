import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { builtAction, type JobAttempt, newJob, runJob } from '../action/job.ts'
import { documentOf } from '../cli/support.ts'
import { commandReader } from '../github/runner/commands.ts'

/** What a child prints is text, whatever it looks like (03: fenced against workflow commands). */
let action: Awaited<ReturnType<typeof builtAction>>
const jobs: JobAttempt[] = []
beforeAll(async () => {
  action = await builtAction()
})
afterAll(() => action.remove())
afterEach(() => {
  for (const job of jobs.splice(0)) job.remove()
})

/** Every workflow command that a runner would obey in this log; lines end as its reader has them. */
function obeyed(log: string): { masks: string[]; annotations: string[]; v1: string[] } {
  const found = { masks: [] as string[], annotations: [] as string[], v1: [] as string[] }
  const read = commandReader({
    annotation: ({ message }) => void found.annotations.push(message),
    mask: value => void found.masks.push(value),
  })
  let stopped: string | null = null
  for (const line of log.split(/\r\n|\r|\n/)) {
    read(line)
    // Commands of the first form count anywhere in a line that has none of the second, unless commands are stopped.
    const fence = /^::stop-commands::(\w+)$/.exec(line)?.[1]
    if (stopped === null && fence !== undefined) stopped = fence
    else if (stopped !== null && line === `::${stopped}::`) stopped = null
    else if (stopped === null && !/^\s*::/.test(line) && line.includes('##[')) found.v1.push(line)
  }
  return found
}

function start(child: string, more: { [name: string]: string } = {}): JobAttempt {
  const policy = { processAllowlist: ['sh'], approval: 'never', environmentAllowlist: ['TOKEN'] }
  const run = {
    kind: 'builtin.shell.exec',
    command: '/bin/sh',
    args: ['child'],
    env: { TOKEN: { env: 'TOKEN' } },
  }
  const spec = { policy, actions: { run }, tasks: [{ id: 'run', uses: 'action:run' }] }
  const job = newJob({ 'flow.yaml': documentOf(spec) }, { workflow: 'flow.yaml' }, { TOKEN: 'correct-horse', ...more })
  writeFileSync(path.join(job.workspace, 'child'), child)
  jobs.push(job)
  return job
}

const hostile = [
  '::add-mask::masked-by-child',
  '::set-output name=status::forged',
  '::save-state name=x::forged',
  '::error file=x::forged',
  '  ::warning::forged',
  '\\t::notice::forged',
  '::stop-commands::0123456789abcdef0123456789abcdef0123456789abcdef',
  '::0123456789abcdef0123456789abcdef0123456789abcdef::',
  '::endgroup::',
  '##[add-mask]masked-by-child',
  'text ##[error]forged',
  '\\r::error::forged',
  'text\\r\\n::error::forged',
  '\\302\\205::error::forged',
  '\\342\\200\\250::error::forged',
  '\\033[2K::error::forged',
  '\\033]0;title\\007::error::forged',
  '\\377\\376::error::forged',
  '::%61dd-mask::masked-by-child',
  'no line end ::error::forged',
]

test('commands of every form, on both streams', async () => {
  const lines = hostile.map(
    text => `printf '${text.replaceAll('%', '%%')}\\n'; printf '${text.replaceAll('%', '%%')}\\n' >&2`,
  )
  const job = start(lines.join('\n'))
  const end = await runJob(action.entry, job)
  expect(end).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
  expect(obeyed(end.log)).toEqual({ masks: ['correct-horse'], annotations: [], v1: [] })
  // They were printed all the same.
  expect(end.log.split('forged').length).toBeGreaterThan(20)
  expect(readFileSync(job.environment['GITHUB_STATE'] ?? '', 'utf8')).not.toContain('forged')
})

test('commands in pieces, each read of its own', async () => {
  const pieces = ['::', 'add-mask', '::masked', '\\n', '::err', 'or::forged\\n', ':', ':warning::forged', '\\n']
  const job = start(pieces.map(piece => `printf '${piece}'; sleep 0.05`).join('\n'))
  const end = await runJob(action.entry, job)
  expect(end.exitCode).toBe(0)
  expect(obeyed(end.log)).toEqual({ masks: ['correct-horse'], annotations: [], v1: [] })
})

test('a secret does not complete a command, nor does its mask', async () => {
  const job = start('printf "%s::error::forged\\n" "$TOKEN"; printf "%s\\n::error::%s\\n" "$TOKEN" "$TOKEN"')
  const end = await runJob(action.entry, job)
  const { masks, annotations } = obeyed(end.log)
  expect([masks, annotations]).toEqual([['correct-horse'], []])
  expect(end.log).toContain('***::error::forged')
})

test('case 27: a value that is a command, in a message of ours', async () => {
  const job = start('exit 3', { INPUT_WORKFLOW: 'no\n::error::forged\n##[error]such.yaml' })
  const end = await runJob(action.entry, job)
  expect(end.exitCode).toBe(2)
  const { annotations, v1 } = obeyed(end.log)
  // One annotation, ours, in which the text stands as text.
  expect(annotations).toHaveLength(1)
  expect(v1).toEqual([])
})
