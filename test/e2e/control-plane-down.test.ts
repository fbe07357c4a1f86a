import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { startControlPlane } from '../harness/control-plane.ts'
import { type FaultyProxy, startFaultyProxy, type Trouble } from '../harness/faulty-proxy.ts'
import { counted, gatedWrite, openStage, type Play, type Stage } from './stage.ts'

/** The control plane away at each step of the Action: retried until it is back, else exit 5 with what to do. */
let stage: Stage
let proxy: FaultyProxy
let directory: string
let witnesses = 0
beforeAll(async () => {
  proxy = await startFaultyProxy()
  directory = mkdtempSync(join(tmpdir(), 'agentctl-down-'))
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
  rmSync(directory, { recursive: true, force: true })
})

const newWitness = () => join(directory, `witness-${++witnesses}`)
const linesOf = (witness: string) => (existsSync(witness) ? readFileSync(witness, 'utf8').trim().split('\n') : [])

/** Resolves once the file is there; the test's own time limit bounds it. */
async function appears(path: string): Promise<void> {
  while (!existsSync(path)) await new Promise(done => setTimeout(done, 20))
}

/** A write, a process that leaves a line outside the workspace and may wait for a person, and a write after it. */
function spec(witness: string, { script = `echo ran >> '${witness}'`, approval = 'high_risk' } = {}): JsonObject {
  return {
    policy: { writableRoots: ['out'], processAllowlist: ['sh'], approval },
    outputs: { last: '${{ tasks.last.output.path }}' },
    actions: {
      write: { kind: 'builtin.write' },
      tool: { kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', script] },
    },
    tasks: [
      { id: 'first', uses: 'action:write', with: { path: 'out/first', content: 'one' } },
      { id: 'tool', uses: 'action:tool', needs: ['first'] },
      { id: 'last', uses: 'action:write', needs: ['tool'], with: { path: 'out/last', content: 'two' } },
    ],
  }
}

const steps: [string, Pick<Trouble, 'route' | 'body'>][] = [
  ['attach', { route: /^POST \/v1\/attach$/ }],
  ['the first commands', { route: /^POST .*\/commands$/, body: /"run\.create"/ }],
  ['an artifact', { route: /^PUT .*\/blobs\// }],
  ['the result of an effect', { route: /^POST .*\/commands$/, body: /"effect\.finish"/ }],
  ['the pause', { route: /^POST .*\/commands$/, body: /"run\.pause"/ }],
  ['what the issue must say', { route: /^GET .*\/pause$/ }],
  ['the registration', { route: /^POST .*\/registration$/ }],
  ['the stored run', { route: /^GET .*\/snapshot$/ }],
  ['the end', { route: /^POST .*\/commands$/, body: /"run\.finish"/ }],
]

describe('goes away at every step and comes back', () => {
  test.each<[string, Trouble['how']]>([
    ['calls do not arrive', 'drop before'],
    ['answers get lost', 'drop after'],
    ['502', { status: 502 }],
    ['503 with Retry-After', { status: 503, retryAfter: 1 }],
  ])('%s: nothing is lost, nothing happens twice', async (_, how) => {
    const witness = newWitness()
    for (const [, step] of steps) proxy.add({ ...step, how, times: how === 'drop before' ? 2 : 1 })
    const play = await stage.begin({ spec: spec(witness) })
    expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '1' } })
    await play.decide('/approve')
    expect(play.step()).toMatchObject({ exitCode: 0, outputs: { outputs: '{"last":"out/last"}' } })
    expect(proxy.pending()).toEqual([])
    expect(play.issues()).toHaveLength(1)
    expect(linesOf(witness)).toEqual(['ran'])
    expect([play.file('out/first'), play.file('out/last')]).toEqual(['one', 'two'])
    expect(counted(await play.events())).toMatchObject({
      'run.created': 1,
      'effect.started': 3,
      'effect.finished': 3,
      'run.paused': 1,
      'approval.resolved': 1,
      'run.finished': 1,
    })
  })

  test('its process ends while an effect runs, and another starts later', async () => {
    const [witness, go] = [newWitness(), newWitness()]
    const script = `echo ran >> '${witness}'; while [ ! -e '${go}' ]; do sleep 0.05; done`
    const play = await stage.begin({ spec: spec(witness, { script, approval: 'never' }), complete: false })
    await appears(witness)
    const { calls } = proxy
    await stage.scene.controlPlane.down()
    const before = calls.length
    writeFileSync(go, '')
    // Three calls that found nobody.
    while (calls.length < before + 3) await new Promise(done => setTimeout(done, 20))
    await stage.scene.controlPlane.start()
    await play.handle.completed()
    expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
    expect(linesOf(witness)).toEqual(['ran'])
  })
})

/** An answer that asks for more patience than a call has: the call gives up at once, as it would after its minute. */
const gone = { status: 503, retryAfter: 600 }

function away(step: string): void {
  const [, match] = steps.find(([name]) => name === step) ?? []
  if (match === undefined) throw new Error(`no step ${step}`)
  proxy.add({ ...match, how: gone, times: 1000 })
}

function expectGivenUp(play: Play): void {
  const { exitCode, outputs, annotations } = play.step()
  expect([exitCode, outputs['exit-code']], play.step().log).toEqual([5, '5'])
  expect(annotations.map(({ message }) => message).join('\n')).toMatch(
    /nothing acknowledged is lost; re-run the job|re-run the job when the control plane is up/,
  )
}

describe('stays away', () => {
  test('at attach: exit 5, nothing ran; a re-run starts', async () => {
    const witness = newWitness()
    away('attach')
    const play = await stage.begin({ spec: spec(witness) })
    expectGivenUp(play)
    expect([linesOf(witness), play.file('out/first')]).toEqual([[], null])
    proxy.clear()
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused' } })
    expect(play.file('out/first')).toBe('one')
  })

  test.each(['what the issue must say', 'the registration'])(
    'at %s: exit 5, the pause stands; a re-run asks with one issue',
    async step => {
      away(step)
      const play = await stage.begin({ spec: gatedWrite })
      expectGivenUp(play)
      const { body } = await play.ask('/approvals')
      expect(play.step().outputs['run-id']).toMatch(/^[0-9a-f-]{36}$/)
      expect(body['items']).toMatchObject([{ task: 'gated', resolution: null }])
      proxy.clear()
      await play.again()
      expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'approval-issue-number': '1' } })
      expect(play.issues()).toHaveLength(1)
      await play.decide('/approve')
      expect(play.file('out/approved.txt')).toBe('approved by a person')
    },
  )

  test('at resume: exit 5, the resolution stands and a re-run goes on', async () => {
    const play = await stage.begin({ spec: gatedWrite })
    away('the stored run')
    await play.decide('/approve')
    expectGivenUp(play)
    expect(play.file('out/approved.txt')).toBeNull()
    proxy.clear()
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
    expect(play.file('out/approved.txt')).toBe('approved by a person')
    expect(counted(await play.events())).toMatchObject({ 'effect.started': 1, 'approval.resolved': 1 })
  })

  test('while an effect runs, and the job is cancelled: its result is printed, and reconciles it', async () => {
    const [witness, go] = [newWitness(), newWitness()]
    const script = `echo ran >> '${witness}'; while [ ! -e '${go}' ]; do sleep 0.05; done; echo said`
    const play = await stage.begin({ spec: spec(witness, { script, approval: 'never' }), complete: false })
    await appears(witness)
    away('the result of an effect')
    const before = proxy.calls.length
    writeFileSync(go, '')
    while (proxy.calls.length < before + 2) await new Promise(done => setTimeout(done, 20))
    play.handle.cancel()
    await play.handle.completed()
    expect(play.step().exitCode, play.step().log).toBe(5)
    const { log } = play.step()
    const [, effect, status] = /agentctl effects reconcile ([0-9a-f]{64}) --status (\S+)/.exec(log) ?? []
    const [result = ''] = /\{"changed":true.*\}/.exec(log) ?? []
    expect([status, JSON.parse(result)]).toMatchObject(['applied', { stdout: 'said\n', exitCode: 0 }])

    proxy.clear()
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 4, outputs: { status: 'uncertain' } })
    const word = {
      status: 'applied',
      reason: 'the log of attempt 1',
      evidence: { log: 'attempt 1' },
      result: JSON.parse(result),
    }
    expect((await play.ask(`/effects/${effect}/reconciliation`, { login: 'bob', body: word })).status).toBe(200)
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
    expect(play.file('out/last')).toBe('two')
    expect(linesOf(witness)).toEqual(['ran'])
  })
})
