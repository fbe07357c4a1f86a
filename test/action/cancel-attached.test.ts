import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { counted, gatedWrite, openStage, type Play, type Stage } from '../e2e/stage.ts'
import type { Fault, RunningProcess } from '../github/index.ts'
import { startControlPlane } from '../harness/control-plane.ts'
import { type FaultyProxy, startFaultyProxy } from '../harness/faulty-proxy.ts'
import { isGone, there, until } from './documents.ts'

/** Main ends before its time under a control plane, and the runner starts the post step: what people and the next attempt see. */
let stage: Stage
let proxy: FaultyProxy
let folder: string
let witnesses = 0
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agentctl-cancel-'))
  proxy = await startFaultyProxy()
  stage = await openStage({
    controlPlane: async github => {
      const real = await startControlPlane(github, { environment: { AGENTCTL_PUBLIC_URL: proxy.url } })
      proxy.target(real.url)
      return { ...real, url: proxy.url }
    },
  })
})
afterEach(() => proxy.clear())
afterAll(async () => {
  await stage.close()
  await proxy.close()
  rmSync(folder, { recursive: true, force: true })
})

const list = 'GET /repos/{owner}/{repo}/issues'
const create = 'POST /repos/{owner}/{repo}/issues'
const read = 'GET /repos/{owner}/{repo}/issues/{issue_number}'

/** A play whose first main is watched: how long it lived from a moment on. */
interface Watched {
  play: Play
  main: RunningProcess | null
  /** Milliseconds from the mark to the start of the post step. */
  took(): number
  mark(): void
}

async function watched(spec: JsonObject): Promise<Watched> {
  const it = { main: null as RunningProcess | null, marked: 0, ended: 0 }
  const play = await stage.begin({
    spec,
    complete: false,
    onProcess: process => {
      if (process.phase === 'main') it.main ??= process
      else it.ended ||= performance.now()
    },
  })
  return {
    play,
    get main() {
      return it.main
    },
    took: () => it.ended - it.marked,
    mark: () => {
      it.marked = performance.now()
    },
  }
}

/** Acts at the job's first such call; `drop: after` lets GitHub do the work all the same. */
function at(route: string, fault: Omit<Fault, 'route'>, act: () => void, caller = 'job'): void {
  let isFirst = true
  stage.scene.github.faults.add({
    ...fault,
    route: call => {
      if (!isFirst || call.route !== route || !call.caller.startsWith(caller)) return false
      isFirst = false
      act()
      return true
    },
  })
}

/** The run as anybody who may read the repository sees it. */
async function recordOf(play: Play): Promise<JsonObject> {
  const [record] = (await play.ask('/runs')).body['items'] as JsonObject[]
  return record ?? {}
}

/** One issue, registered, on which the run can be decided and then runs once. */
async function resumesOnce(play: Play): Promise<void> {
  const open = play.issues().filter(({ state }) => state === 'open')
  expect(open).toHaveLength(1)
  expect(
    (await play.events((await recordOf(play))['run'] as string)).filter(({ type }) => type === 'pause.registered'),
  ).toHaveLength(1)
  await play.decide('/approve', open[0])
  expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
  expect(counted(await play.events())).toMatchObject({ 'effect.started': 1, 'approval.resolved': 1 })
}

/** A process that says when it is there, and does not end by itself. */
function endless(script = 'exec sleep 600'): { spec: JsonObject; pid: () => number; isThere: () => Promise<void> } {
  const witness = join(folder, `witness-${++witnesses}`)
  const spec = {
    policy: { processAllowlist: ['sh'], approval: 'never' },
    actions: {
      run: { kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', `echo $$ > '${witness}'; ${script}`] },
    },
    tasks: [{ id: 'run', uses: 'action:run' }],
  }
  return { spec, pid: () => Number(readFileSync(witness, 'utf8')), isThere: () => there(witness) }
}

describe('cancelled by a person', () => {
  test.each<[string, string, 'before' | 'after', string]>([
    ['before GitHub has heard of the issue', list, 'before', 'job'],
    ['while the issue is opened, which GitHub did not hear', create, 'before', 'job'],
    ['while the issue is opened, which GitHub did all the same', create, 'after', 'job'],
  ])('%s: paused is recorded, the post step sees to the issue', async (_, route, drop, caller) => {
    let watch: Watched | null = null
    at(
      route,
      { drop },
      () => {
        watch?.mark()
        watch?.play.handle.cancel()
      },
      caller,
    )
    watch = await watched(gatedWrite)
    const { play } = watch
    await play.handle.completed()
    expect(play.step()).toMatchObject({ exitCode: 130, outputs: { status: 'paused', 'exit-code': '130' } })
    expect(play.handle.attempt().conclusion).toBe('cancelled')
    expect(watch.took()).toBeLessThan(5_000)
    expect(play.step().log).toMatch(/(opened|found) approval issue #1/)
    await resumesOnce(play)
  })

  test('while the control plane reads the issue back: the post step finds it registered or registers it', async () => {
    let watch: Watched | null = null
    at(
      read,
      { delayMs: 1_500 },
      () => {
        watch?.mark()
        watch?.play.handle.cancel()
      },
      '',
    )
    watch = await watched(gatedWrite)
    const { play } = watch
    await play.handle.completed()
    expect(play.step()).toMatchObject({ exitCode: 130, outputs: { status: 'paused' } })
    expect(watch.took()).toBeLessThan(5_000)
    await resumesOnce(play)
  })

  test('while a process runs: gone, uncertain for everybody at once, and told', async () => {
    const process = endless('trap "" TERM; while :; do sleep 600; done')
    const watch = await watched(process.spec)
    await process.isThere()
    watch.mark()
    watch.play.handle.cancel()
    await watch.play.handle.completed()
    expect(watch.took()).toBeLessThan(5_000)
    expect(isGone(process.pid())).toBe(true)
    expect(watch.play.step()).toMatchObject({
      exitCode: 130,
      outputs: { status: 'uncertain' },
      state: { concluded: 'true' },
    })
    expect(await recordOf(watch.play)).toMatchObject({ state: 'uncertain' })
  })

  test('while the control plane has stopped to answer: out in time, the next attempt finds the rest', async () => {
    const process = endless()
    const { play, ...watch } = await watched(process.spec)
    await process.isThere()
    proxy.add({ route: /\/commands$|\/v1\/attach$/, how: 'hang', times: 1_000 })
    watch.mark()
    play.handle.cancel()
    await play.handle.completed()
    expect(watch.took()).toBeLessThan(5_000)
    expect(isGone(process.pid())).toBe(true)
    const run = play.step().outputs['run-id']
    expect(play.step()).toMatchObject({ exitCode: 130, outputs: { status: 'uncertain', 'exit-code': '130' } })
    expect(play.step().log).toContain('could not be settled')
    proxy.clear()
    expect(await recordOf(play)).toMatchObject({ run, state: 'running' })
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 4, outputs: { status: 'uncertain', 'run-id': run } })
    expect(play.step().log).toContain('agentctl effects reconcile')
  })
})

describe('killed as the kernel does it when memory is out', () => {
  test('while a process runs: the post step makes the run uncertain before any lease has run out', async () => {
    const process = endless()
    const watch = await watched(process.spec)
    await process.isThere()
    watch.main?.kill('SIGKILL')
    const { play } = watch
    await play.handle.completed()
    const step = play.step()
    expect(step).toMatchObject({ exitCode: null, signal: 'SIGKILL', conclusion: 'failure' })
    expect(isGone(process.pid())).toBe(true)
    const record = await recordOf(play)
    expect(record).toMatchObject({ state: 'uncertain' })
    const [effect] = (await play.ask(`/runs/${record['run']}/effects`)).body['items'] as JsonObject[]
    expect(effect).toMatchObject({ state: 'uncertain', error: { code: 'interrupted' } })
    expect(step.annotations).toContainEqual(
      expect.objectContaining({
        level: 'error',
        title: 'interrupted',
        message: expect.stringContaining(`${effect?.['effect']}`),
      }),
    )
    expect(step.summary).toContain('interrupted')
    expect(step.state).not.toHaveProperty('concluded')
    expect(JSON.stringify(step.state)).not.toMatch(/ghs_|eyJ/)
    expect(step.raw.replaceAll(/^::add-mask::.*$/gm, '')).not.toMatch(/ghs_|eyJ[A-Za-z0-9_-]{10}/)

    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 4, outputs: { status: 'uncertain' } })
  })

  test.each<[string, string, 'before' | 'after']>([
    ['between the pause and its issue', list, 'before'],
    ['while the issue is opened, which GitHub did all the same', create, 'after'],
  ])('%s: the post step opens or finds it, one in all', async (_, route, drop) => {
    let watch: Watched | null = null
    at(route, { drop }, () => watch?.main?.kill('SIGKILL'))
    watch = await watched(gatedWrite)
    const { play } = watch
    await play.handle.completed()
    expect(play.step()).toMatchObject({ exitCode: null, signal: 'SIGKILL' })
    expect(await recordOf(play)).toMatchObject({ state: 'paused' })
    await resumesOnce(play)
  })

  test('with nothing under way: the run is given back, and the next attempt goes on with it', async () => {
    const mains: RunningProcess[] = []
    const play = await stage.begin({
      spec: gatedWrite,
      onProcess: process => void (process.phase === 'main' && mains.push(process)),
    })
    expect(play.step().exitCode).toBe(3)
    proxy.add({ route: /GET .*\/snapshot$/, how: 'hang', times: 1 })
    const attempts = play.handle.run.attempts.length
    play.say(await play.issue(), 'bob', '/approve')
    await stage.scene.github.until(() => play.handle.run.attempts.length > attempts)
    await until(() => proxy.pending().length === 0, 'the resumed attempt at its first read')
    mains.at(-1)?.kill('SIGKILL')
    await play.handle.completed()
    expect(play.step()).toMatchObject({ signal: 'SIGKILL' })
    expect(play.step().log).toContain('re-run this job and the run goes on where it stood')
    expect(await recordOf(play)).toMatchObject({ state: 'running' })
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
    expect(counted(await play.events())).toMatchObject({ 'effect.started': 1 })
  })
})
