import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { readOutputs } from '../action/job.ts'
import type { RunningProcess } from '../github/index.ts'
import { counted, gatedWrite, openStage, type Stage, withStep } from './stage.ts'

/**
 * The rows of 04's attempt table by real second attempts. Pending, resolved, succeeded and rejected are in
 * test/action/attached.test.ts.
 */
let stage: Stage
let directory: string
let witnesses = 0
beforeAll(async () => {
  stage = await openStage()
  directory = mkdtempSync(join(tmpdir(), 'agentctl-attempts-'))
})
afterAll(async () => {
  await stage.close()
  rmSync(directory, { recursive: true, force: true })
})

const newWitness = () => join(directory, `witness-${++witnesses}`)
const linesOf = (witness: string) => (existsSync(witness) ? readFileSync(witness, 'utf8').trim().split('\n') : [])

/** Resolves once the file is there; the test's own time limit bounds it. */
async function appears(path: string): Promise<void> {
  while (!existsSync(path)) await new Promise(done => setTimeout(done, 20))
}

const shell = (script: string): JsonObject => ({ kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', script] })

describe('a run that has ended says so again, never 0', () => {
  test('denied by policy', async () => {
    const play = await stage.begin({
      spec: {
        policy: { writableRoots: ['.'] },
        actions: { write: { kind: 'builtin.write' } },
        tasks: [
          { id: 'takeover', uses: 'action:write', with: { path: '.github/workflows/x.yml', content: 'on: push' } },
        ],
      },
    })
    const first = play.step()
    expect(first).toMatchObject({ exitCode: 3, outputs: { status: 'denied' } })
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'denied', 'exit-code': '3' } })
    expect(play.step().outputs['run-id']).toBe(first.outputs['run-id'])
    expect(play.step().log).toContain('takeover')
    expect(play.issues()).toEqual([])
  })

  test('cancelled', async () => {
    const play = await stage.begin({ spec: gatedWrite })
    const issue = await play.issue()
    play.say(issue, 'bob', '/cancel not today')
    await stage.scene.github.until(() => issue.state === 'closed')
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 130, outputs: { status: 'cancelled', 'exit-code': '130' } })
    await play.again()
    expect(play.step().exitCode).toBe(130)
    expect(play.file('out/approved.txt')).toBeNull()
    expect(counted(await play.events())).not.toHaveProperty('effect.started')
  })
})

test('a failed run is followed by a new one; what its parent confirmed asks again and names the earlier result', async () => {
  const witness = newWitness()
  const play = await stage.begin({
    workflow: withStep(({ workspace, attempt }) => writeFileSync(join(workspace, 'attempt.txt'), `${attempt}`)),
    spec: {
      policy: { writableRoots: ['out'], approval: 'never', processAllowlist: ['sh'] },
      actions: {
        read: { kind: 'builtin.read' },
        write: { kind: 'builtin.write' },
        assert: { kind: 'builtin.assert' },
        deploy: shell(`echo deployed >> '${witness}'`),
      },
      tasks: [
        { id: 'seen', uses: 'action:read', with: { path: 'attempt.txt' } },
        { id: 'note', uses: 'action:write', with: { path: 'out/note.txt', content: 'idempotent' } },
        { id: 'deploy', uses: 'action:deploy' },
        {
          id: 'check',
          uses: 'action:assert',
          needs: ['seen', 'note', 'deploy'],
          with: { that: "${{ tasks.seen.output.content == '2' }}", message: 'the first attempt does not pass' },
        },
      ],
    },
  })
  const failed = play.step()
  expect(failed).toMatchObject({ exitCode: 4, outputs: { status: 'failed' } })
  expect(linesOf(witness)).toHaveLength(1)

  await play.again()
  const second = play.step()
  expect(second).toMatchObject({ exitCode: 3, outputs: { status: 'paused' } })
  expect(second.outputs['run-id']).not.toBe(failed.outputs['run-id'])
  // The idempotent write was simply done again; the deployment waits.
  expect(play.file('out/note.txt')).toBe('idempotent')
  expect(linesOf(witness)).toHaveLength(1)
  const issue = await play.issue()
  expect(play.issues()).toHaveLength(1)
  expect(issue.body).toContain('deploy')
  expect(issue.body).toContain(failed.outputs['run-id'])
  const [created] = await play.events()
  expect(created).toMatchObject({ type: 'run.created', data: { parent: failed.outputs['run-id'] } })

  await play.decide('/approve deploy again')
  expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
  expect(linesOf(witness)).toHaveLength(2)
})

/** A process that says when it began and waits to be let go. */
function held(witness: string, go: string): JsonObject {
  const wait = `i=0; while [ ! -e '${go}' ] && [ $i -lt 400 ]; do i=$((i+1)); sleep 0.05; done`
  return {
    policy: { writableRoots: ['out'], approval: 'never', processAllowlist: ['sh'] },
    outputs: { first: '${{ tasks.first.output.path }}' },
    actions: { write: { kind: 'builtin.write' }, slow: shell(`echo began >> '${witness}'; ${wait}`) },
    tasks: [
      { id: 'first', uses: 'action:write', with: { path: 'out/first.txt', content: 'one' } },
      { id: 'slow', uses: 'action:slow', needs: ['first'] },
      { id: 'last', uses: 'action:write', needs: ['slow'], with: { path: 'out/last.txt', content: 'two' } },
    ],
  }
}

test('kill -9 of the first attempt: the next one fences it at once; what it had started is uncertain until reconciled', async () => {
  const [witness, go] = [newWitness(), newWitness()]
  let process_: RunningProcess | undefined
  const play = await stage.begin({
    spec: held(witness, go),
    complete: false,
    onProcess: one => {
      process_ ??= one
    },
  })
  await appears(witness)
  process_?.kill('SIGKILL')
  await play.handle.completed()
  expect(play.step()).toMatchObject({ exitCode: null, signal: 'SIGKILL' })
  writeFileSync(go, '')

  const before = performance.now()
  await play.again()
  // A lease lasts a minute; the later attempt does not wait for its end.
  expect(performance.now() - before).toBeLessThan(30_000)
  const second = play.step()
  expect(second).toMatchObject({ exitCode: 4, outputs: { status: 'uncertain' } })
  expect(play.file('out/last.txt')).toBeNull()

  await play.again()
  const third = play.step()
  expect(third).toMatchObject({ exitCode: 4, outputs: { status: 'uncertain', 'run-id': second.outputs['run-id'] } })
  const [, effect] = /agentctl effects reconcile ([0-9a-f]{64})/.exec(third.log) ?? []
  expect(effect).toBeDefined()

  const { status } = await play.ask(`/effects/${effect}/reconciliation`, {
    login: 'bob',
    body: { status: 'applied', reason: 'the log of the target shows it', evidence: { log: 'line 7' } },
  })
  expect(status).toBe(200)
  await play.again()
  expect(play.step()).toMatchObject({
    exitCode: 0,
    outputs: { status: 'succeeded', outputs: '{"first":"out/first.txt"}' },
  })
  expect(linesOf(witness)).toHaveLength(1)
  expect([play.file('out/first.txt'), play.file('out/last.txt')]).toEqual(['one', 'two'])
  const events = await play.events()
  expect(counted(events)).toMatchObject({ 'effect.started': 3, 'effect.reconciled': 1 })
})

test('two Actions on one run: the second is refused with exit 5 and the holder named, the first goes on', async () => {
  const [witness, go] = [newWitness(), newWitness()]
  let process_: RunningProcess | undefined
  const play = await stage.begin({
    spec: held(witness, go),
    complete: false,
    onProcess: one => {
      process_ = one
    },
  })
  await appears(witness)
  const second = await secondAction(process_)
  expect(second).toMatchObject({ exitCode: 5, outputs: { status: 'failed', 'exit-code': '5' } })
  expect(second.log).toContain(`held by attempt 1 of workflow run ${play.handle.id}`)
  expect(second.log).toContain('lease_held')
  writeFileSync(go, '')
  await play.handle.completed()
  expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
  expect(linesOf(witness)).toHaveLength(1)
})

/** Starts the Action once more with all that the running one was given, outputs and summary apart. */
async function secondAction(running: RunningProcess | undefined) {
  const pairs = readFileSync(`/proc/${running?.pid}/environ`, 'utf8').split('\0').filter(Boolean)
  const environment = Object.fromEntries(
    pairs.map(pair => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  )
  const [output, summary, state] = [newWitness(), newWitness(), newWitness()]
  for (const file of [output, summary, state]) writeFileSync(file, '')
  const files = { GITHUB_OUTPUT: output, GITHUB_STEP_SUMMARY: summary, GITHUB_STATE: state }
  const [node = '', ...args] = readFileSync(`/proc/${running?.pid}/cmdline`, 'utf8').split('\0').filter(Boolean)
  const child = spawn(node, args, { env: { ...environment, ...files }, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (log += chunk))
  const exitCode = await new Promise<number | null>(done => child.on('close', done))
  return { exitCode, log, outputs: readOutputs(readFileSync(output, 'utf8')) }
}
