import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { builtAction, type JobAttempt, newJob, runJob } from '../action/job.ts'
import { documentOf } from '../cli/support.ts'
import { openStage, type Stage } from '../e2e/stage.ts'
import { expectClean, expectCleanFiles, gatedFiles, gatedWithoutProgram, leaking, secrets } from './planted.ts'

/** What the runner reads and does not show: it is told each value, so as to hide it too. */
const withoutMasks = (log: string): string => log.replaceAll(/^::add-mask::.*\n/gm, '')

describe('case 34: the Action without a control plane', () => {
  let action: Awaited<ReturnType<typeof builtAction>>
  const jobs: JobAttempt[] = []
  beforeAll(async () => {
    action = await builtAction()
  })
  afterAll(() => action.remove())
  afterEach(() => {
    for (const job of jobs.splice(0)) job.remove()
  })

  const token = 'ghs_planted0123456789abcdef'
  function job(document: JsonObject, inputs: { [name: string]: string } = {}, more: { [name: string]: string } = {}) {
    const created = newJob(
      { 'flow.yaml': documentOf(document), ...gatedFiles },
      { workflow: 'flow.yaml', 'github-token': token, ...inputs },
      { ...secrets, ...more },
    )
    jobs.push(created)
    return created
  }

  async function ended(attempt: JobAttempt) {
    const end = await runJob(action.entry, attempt)
    const log = withoutMasks(end.log)
    expectClean('log', log)
    expectClean('summary', end.summary)
    for (const file of ['GITHUB_OUTPUT', 'GITHUB_STATE', 'GITHUB_STEP_SUMMARY'])
      expectClean(file, readFileSync(attempt.environment[file] ?? '', 'utf8'))
    expectCleanFiles(attempt.temp)
    for (const [name, text] of Object.entries({ log, summary: end.summary, outputs: JSON.stringify(end.outputs) }))
      expect(text.includes(token), name).toBe(false)
    return { ...end, log }
  }

  test('a run that leaks in every way: log, annotations, summary, outputs, state, ledger', async () => {
    const end = await ended(job(leaking))
    expect(end).toMatchObject({ exitCode: 4, outputs: { status: 'failed' } })
    for (const text of [end.log, end.summary]) expect(text).toMatch(/\*\*\*|&#42;&#42;&#42;/)
  })

  test('approvals that show diffs', async () => {
    const end = await ended(job(gatedWithoutProgram))
    expect(end).toMatchObject({ exitCode: 3, outputs: { status: 'paused' } })
  })

  test('each value and each of its lines is a mask before anything else is printed', async () => {
    const end = await runJob(action.entry, job(leaking))
    const masked = [...end.log.matchAll(/^::add-mask::(.*)$/gm)].map(([, text = '']) =>
      text.replaceAll('%0A', '\n').replaceAll('%0D', '\r').replaceAll('%25', '%'),
    )
    expect(masked).toEqual(expect.arrayContaining([token, secrets.PLACE, secrets.KEY, ...secrets.KEY.split('\n')]))
    expect(end.log.startsWith('::add-mask::')).toBe(true)
    const lastMask = end.log.lastIndexOf('::add-mask::')
    expect(end.log.search(/started|::group::|::error/)).toBeGreaterThan(lastMask)
  })

  test.each([
    ['the document is not there', { workflow: `${secrets.PLACE}.yaml` }],
    ['the working directory is not there', { 'working-directory': secrets.PLACE }],
    ['inputs that are no JSON', { inputs: secrets.PLACE }],
  ])(
    'an end before there is a plan names what the step was given, which the job’s author wrote: %s',
    async (_, inputs) => {
      // Which variables are secrets is not known before the plan is; the tokens are.
      const end = await runJob(action.entry, job(leaking, inputs))
      expect(end.exitCode).toBe(2)
      expect(withoutMasks(end.log)).not.toContain(token)
    },
  )

  test('the token in a place where the step shows what it was given', async () => {
    const end = await ended(job(leaking, { workflow: `${token}.yaml` }))
    expect(end.exitCode).toBe(2)
    expect(end.log).toContain('***.yaml')
  })

  test('the token in the document: annotations, their places and titles', async () => {
    const faulty = { ...leaking, [token]: true }
    const attempt = job(faulty, { workflow: `${token}.yaml` })
    writeFileSync(path.join(attempt.workspace, `${token}.yaml`), documentOf(faulty))
    const end = await ended(attempt)
    expect(end.exitCode).toBe(2)
    expect(end.log).toMatch(/^::error .*file=\*\*\*\.yaml.*::.*\*\*\*/m)
  })

  test('the token printed by a process that found it', async () => {
    const spec = { ...leaking, tasks: [{ id: 'print', uses: 'action:print' }] }
    const found = job({
      ...spec,
      actions: { ...(leaking['actions'] as JsonObject), print: printing(token) },
      outputs: {},
    })
    expect(await ended(found)).toMatchObject({ exitCode: 0 })
  })

  test('an input that holds a secret is refused by name', async () => {
    const refused = job({ ...leaking, inputs: { note: '' } }, { inputs: JSON.stringify({ note: `a ${token} b` }) })
    const end = await ended(refused)
    expect(end.exitCode).toBe(2)
    expect(end.log).toContain('secret_in_input: note')
  })
})

/** Its script stands in a file, since the document is recorded as it is. */
function printing(token: string): JsonObject {
  const halves = [token.slice(0, 9), token.slice(9)]
  return { kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', 'printf %s%s "$1" "$2"', 'sh', ...halves] }
}

describe('case 34: the Action under a control plane', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage()
  })
  afterAll(() => stage.close())

  test('issue, comments, statuses, API, pages, audit, data and log of the control plane, and the job', async () => {
    const { github, controlPlane } = stage.scene
    const play = await stage.begin({
      spec: gatedWithoutProgram,
      files: gatedFiles,
      workflow: workflow => {
        const jobs = Object.entries(workflow.jobs).map(([key, job]) => [key, { ...job, env: secrets }])
        return { ...workflow, jobs: Object.fromEntries(jobs) }
      },
    })
    const issue = await play.issue()
    expect(issue.body).toContain('***')
    const run = play.step().outputs['run-id'] ?? ''
    const texts = () =>
      play.issues().map(({ title, body, comments }) => [title, body, ...comments.map(comment => comment.body)])
    const search = async () => {
      const { raw, summary, outputs, state, annotations } = play.step()
      expectClean('raw log', withoutMasks(raw))
      for (const [surface, value] of Object.entries({ summary, outputs, state, annotations, issues: texts() }))
        expectClean(surface, JSON.stringify(value))
      for (const shown of ['', '/plan', '/events', '/effects', '/approvals']) {
        const { status, body } = await play.ask(`/runs/${run}${shown}`)
        expect([shown, status]).toEqual([shown, 200])
        expectClean(`API ${shown}`, JSON.stringify(body))
      }
      const page = await fetch(`${controlPlane.url}/`)
      expectClean('page', await page.text())
      expectClean('export', JSON.stringify(await play.events(run)))
      expectClean('log of the control plane', controlPlane.log())
      expect(expectCleanFiles(controlPlane.data).length).toBeGreaterThan(0)
    }
    await search()
    await play.decide('/approve all')
    expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
    await github.until(() => issue.state === 'closed')
    await search()
  })

  test('a secret in the words of whoever decides: the job that goes on hides it', async () => {
    const play = await stage.begin({
      spec: gatedWithoutProgram,
      files: gatedFiles,
      workflow: workflow => {
        const jobs = Object.entries(workflow.jobs).map(([key, job]) => [key, { ...job, env: secrets }])
        return { ...workflow, jobs: Object.fromEntries(jobs) }
      },
    })
    await play.decide(`/approve all since ${secrets.PLACE} is right`)
    const { raw, summary, exitCode } = play.step()
    expect(exitCode).toBe(0)
    for (const shown of [raw, summary]) expect(shown).toMatch(/since (\*|&#42;){3,} is right/)
    expectClean('raw log', withoutMasks(raw))
    expectClean('summary', summary)
  })
})
