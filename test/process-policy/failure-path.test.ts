import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Annotations } from '../../action/annotations.ts'
import { Guard } from '../../action/guard.ts'
import { JobLog } from '../../action/job-log.ts'
import { Progress } from '../../action/progress.ts'
import { runAction } from '../../action/run.ts'
import { StepState } from '../../action/state.ts'
import type { Base } from '../../cli/command.ts'
import { runCli } from '../../cli/run-cli.ts'
import { createApp } from '../../control-plane/app.ts'
import type { Dependencies } from '../../control-plane/dependencies.ts'
import { lineLog } from '../../control-plane/log.ts'
import { systemClock, systemIds } from '../../ledger/index.ts'
import { FakePace } from '../action/fake-pace.ts'
import { type JobAttempt, newJob } from '../action/job.ts'
import { createDesk, type Desk, gated } from '../cli/support.ts'
import { configWith } from '../control-plane/settings.ts'
import { circular, thrown } from '../thrown.ts'

const rethrow = (value: unknown) => () => {
  throw value
}

describe('case 23: the Action', () => {
  const before = { ...process.env }
  let job: JobAttempt
  beforeEach(() => {
    job = newJob({ 'flow.yaml': gated }, {})
    Object.assign(process.env, job.environment)
  })
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
    job.remove()
  })

  test.each(thrown)('%s', async (_, value) => {
    const log = new JobLog(() => {})
    const annotations = new Annotations(log, text => text)
    const base = {
      environment: job.environment,
      clock: systemClock,
      ids: { ...systemIds, uuid: rethrow(value) },
      log,
      guard: new Guard(log),
      annotations,
      progress: new Progress(log, annotations, new FakePace()),
      state: new StepState(() => {}),
      signal: new AbortController().signal,
    }
    expect(await runAction(base, name => (name === 'workflow' ? 'flow.yaml' : ''))).toBe(4)
    expect(annotations.errors).toBe(1)
    const outputs = readFileSync(job.environment['GITHUB_OUTPUT'] ?? '', 'utf8')
    expect(outputs).toMatch(/^status<<(\S+)\nfailed\n/)
  })
})

describe('case 23: the command line', () => {
  let desk: Desk
  beforeEach(() => {
    desk = createDesk()
    desk.put('gated.yaml', gated)
  })
  afterEach(() => desk.dispose())

  test.each(thrown)('%s', async (name, value) => {
    for (const form of [[], ['--output', 'json']]) {
      const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })]
      const base = {
        directory: desk.directory,
        environment: {},
        user: 1,
        stdin: new PassThrough(),
        stdout: Object.assign(stdout, { isTTY: false }),
        stderr: Object.assign(stderr, { isTTY: false }),
        clock: systemClock,
        ids: { ...systemIds, uuid: rethrow(value) },
      } as unknown as Base
      expect(await runCli(['run', 'gated.yaml', ...form], base)).toBe(4)
      const told = String(stderr.read() ?? '')
      expect(told).toContain('internal')
      if (name === 'a circular object') expect(told).toContain('why')
      if (form.length > 0) expect(JSON.parse(told)).toMatchObject({ ok: false })
    }
  })
})

describe('case 23: the control plane', () => {
  test.each(thrown)('%s', async (_, value) => {
    const lines: string[] = []
    const fail = rethrow(value)
    const dependencies: Dependencies = {
      config: configWith(),
      clock: systemClock,
      ids: systemIds,
      fetch: fail,
      repositories: { get: fail },
      directory: { remember: fail, find: fail, update: fail, pending: fail, due: fail },
      log: lineLog(systemClock, line => lines.push(line)),
      limiter: { allow: fail },
      addressOf: fail,
      metrics: null,
    }
    const answer = await createApp(dependencies).request('/readyz')
    expect(answer.status).toBe(500)
    expect(await answer.json()).toMatchObject({ code: 'internal', status: 500 })
    expect(lines.map(line => JSON.parse(line))).toMatchObject([
      { event: 'request.failed', message: expect.any(String) },
    ])
  })

  test('its log never throws, and blanks what is named like a secret', () => {
    const lines: string[] = []
    const log = lineLog(systemClock, line => lines.push(line))
    log.error('x', { token: 'abc', fine: 1 })
    log.error('y', circular() as never)
    expect(lines.map(line => JSON.parse(line))).toMatchObject([{ event: 'x', token: '***', fine: 1 }, { event: 'y' }])
    expect(lines[0]).not.toContain('abc')
  })
})
