import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { findEngine } from '../../runner/container/container.ts'
import { makeImage } from '../engines/images.ts'
import { describeEngines } from '../engines/provided.ts'
import {
  createScene,
  freely,
  planOf,
  predict,
  putFile,
  resume,
  type Scene,
  start,
  statesOf,
  vote,
} from '../runner/support.ts'
import { expectNothingLeft, type Traces, tracesOf } from './probes/support.ts'

function scene(files: { [path: string]: string } = {}): Scene {
  const made = createScene(files)
  // The container's user is another one.
  chmodSync(made.workspace, 0o755)
  onTestFinished(() => made.dispose())
  return made
}

const base = { command: 'sh', timeoutSeconds: 30 }
const never = { processAllowlist: ['sh', 'cat', 'nope'], approval: 'never' }

describeEngines('a process action in a container', ({ engine, busybox, engines }) => {
  const environment = { ...engine.env, ...(engine.kind === 'podman' && { CONTAINER_HOST: `unix://${engine.socket}` }) }
  const contained = { isolation: 'container', container: { image: busybox.reference, runtime: engine.kind } }
  const shell = (script: string, more: object = {}) => ({
    kind: 'builtin.shell.exec',
    ...base,
    ...contained,
    args: ['-c', script],
    ...more,
  })
  const planned = (action: object, policy: object = never) =>
    planOf({
      policy,
      actions: { x: action },
      tasks: [{ id: 'a', uses: 'action:x' }],
      outputs: { out: '${{ tasks.a.output }}' },
    })
  const run = (where: Scene, action: object, policy?: object, more: { [name: string]: string } = {}) =>
    start(where, planned(action, policy), { ports: { environment: { ...environment, ...more } } })

  let before: Traces
  beforeEach(async () => {
    before = await tracesOf(engine)
  })
  afterEach(async () => await expectNothingLeft(engine, before))

  it('gives the output of its command, and records engine, image and the controls found', async () => {
    const where = scene({ 'data.txt': 'of the workspace\n' })
    const outcome = await run(where, shell('cat data.txt; echo also >&2; exit 0'))
    expect(outcome.messages).toEqual([])
    expect(outcome).toMatchObject({ state: 'succeeded', exitCode: 0 })
    expect(outcome.outputs).toMatchObject({ out: { exitCode: 0, stdout: 'of the workspace\n', stderr: 'also\n' } })
    const [effect] = where.ledger.store.snapshot(outcome.run)?.effects ?? []
    expect(effect?.enforcement).toMatchObject({
      containment: 'container',
      left: [],
      printedBytes: 22,
      containers: [
        { engine: { kind: engine.kind }, image: { id: busybox.id }, removed: true, inspected: { network: 'none' } },
      ],
    })
  })

  it('tells a failing exit code as a host process does', async () => {
    const where = scene()
    const outcome = await run(where, shell('exit 42'))
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(outcome.messages.join()).toContain('exited with code 42')
  })

  it('hides a secret that it prints, and gives it no other variable of the job', async () => {
    const where = scene()
    const policy = { ...never, environmentAllowlist: ['TOKEN'] }
    const action = shell('echo got $TOKEN; env | sed s/=.*// | sort | tr "\\n" " "', {
      env: { TOKEN: { env: 'TOKEN' } },
    })
    const outcome = await run(where, action, policy, { TOKEN: 'hush-hush-1', OTHER: 'x' })
    expect(outcome.messages).toEqual([])
    const text = JSON.stringify([outcome.outputs, where.events])
    expect(text).not.toContain('hush-hush-1')
    expect(outcome.outputs).toMatchObject({
      out: { stdout: expect.stringContaining('HOME HOSTNAME PATH PWD SHLVL TOKEN') },
    })
  })

  it('is refused where its basename is not on the list, whatever the image', async () => {
    const outcome = await run(scene(), shell('true'), { processAllowlist: ['git', '/bin/sh'], approval: 'never' })
    expect(outcome).toMatchObject({ state: 'denied', exitCode: 3 })
    expect(outcome.messages.join()).toContain('processAllowlist')
  })

  it('case 24: never runs for an image that is not there, and nothing is requested', async () => {
    const where = scene()
    const absent = `sha256:${'0'.repeat(64)}`
    const outcome = await run(where, { ...shell('true'), container: { image: absent, runtime: engine.kind } })
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(outcome.messages.join()).toMatch(/image_absent.*nothing is ever pulled/)
    expect(where.ledger.store.snapshot(outcome.run)?.effects ?? []).toEqual([])
  })

  it('case 24: fails by name for a command that the image does not have', async () => {
    const outcome = await run(scene(), { ...shell('true'), command: 'nope', args: [] })
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(outcome.messages.join()).toContain('command_not_found')
  })

  it('asks with engine, image and limits, and an approval holds for this image and these files only', async () => {
    const where = scene({ 'job.sh': 'echo one\n' })
    const action = { ...shell('true'), args: ['/workspace/job.sh'] }
    const policy = { processAllowlist: ['sh'] }
    const outcome = await run(where, action, policy)
    expect(outcome.exitCode).toBe(3)
    const [item] = outcome.pause?.items ?? []
    expect(item?.expectedEffect).toMatchObject({
      kind: 'container',
      engine: { kind: engine.kind },
      image: { reference: busybox.reference, id: busybox.id },
      argvFiles: { 'job.sh': expect.any(String) },
      limits: { memoryLimitBytes: 268_435_456, cpuLimitMillis: 1000, pidsLimit: 64 },
    })
    putFile(where, 'job.sh', 'echo two\n')
    vote(where, outcome, 'approve')
    const again = await resume(where, outcome.run, { ports: { environment } })
    expect(again.exitCode).toBe(3)
    expect(again.pause?.items[0]?.reason).toContain('argv_files_changed')
    vote(where, again, 'approve')
    const last = await resume(where, outcome.run, { ports: { environment } })
    expect(last).toMatchObject({ exitCode: 0, outputs: { out: { stdout: 'two\n' } } })
  })

  it('refuses a working directory with a socket that others may write to', async () => {
    const where = scene({ 'sub/x': '' })
    const place = `${where.workspace}/sub/s`
    const server = createServer().listen(place)
    await new Promise(resolve => server.once('listening', resolve))
    onTestFinished(() => void server.close())
    chmodSync(place, 0o777)
    const outcome = await run(where, shell('true'))
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(outcome.messages.join()).toMatch(/open_door.*sub\/s/)
    chmodSync(place, 0o755)
    expect((await run(where, shell('true'))).messages).toEqual([])
  })

  it('requests nothing where a runtime would carry in what is mounted below the working directory', async () => {
    const where = scene({ 'sub/x': '' })
    const place = `${where.workspace}/sub`
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', place])
    onTestFinished(() => void execFileSync('umount', ['-l', place]))
    const outcome = await run(where, shell('ls sub'))
    const found = await findEngine(engine.kind, busybox.reference, environment)
    if (found.engine.hidesNestedMounts) {
      expect(outcome.outputs).toMatchObject({ out: { stdout: 'x\n' } })
      return
    }
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(outcome.messages.join()).toMatch(/nested_mount.*\/sub.*unmount it/)
    expect(where.ledger.store.snapshot(outcome.run)?.effects ?? []).toEqual([])
  })

  it('runs an extension, each of its two processes in a container', async () => {
    const protocolVersion = 'agentctl.dev/process-extension/v1'
    const shape = { type: 'object' }
    const handshake = JSON.stringify({
      protocolVersion,
      name: 'x',
      inputSchema: shape,
      outputSchema: shape,
      capabilities: ['c'],
    })
    const script = [
      '#!/bin/sh',
      `if [ "$1" = --agentctl-handshake ]; then echo '${handshake}'; exit; fi`,
      'read -r line',
      'id=$(echo "$line" | sed \'s/.*"effectId":"\\([^"]*\\)".*/\\1/\')',
      `echo '{"protocolVersion":"${protocolVersion}","effectId":"'$id'","output":{"host":"'$HOSTNAME'"}}'`,
      '',
    ].join('\n')
    const images = await makeImage(engines, {
      name: 'extension',
      files(root) {
        mkdirSync(`${root}/bin`, { recursive: true })
        writeFileSync(`${root}/bin/extension`, script)
        chmodSync(`${root}/bin/extension`, 0o755)
      },
    })
    const action = {
      kind: 'extension.process',
      command: 'extension',
      timeoutSeconds: 30,
      isolation: 'container',
      container: { image: images[engine.kind].id, runtime: engine.kind },
      protocolVersion,
      inputSchema: shape,
      outputSchema: shape,
      capabilities: ['c'],
    }
    const where = scene()
    const outcome = await run(where, action, { processAllowlist: ['extension'], approval: 'never' })
    expect(outcome.messages).toEqual([])
    expect(outcome.outputs).toMatchObject({ out: { host: 'agentctl' } })
    const [effect] = where.ledger.store.snapshot(outcome.run)?.effects ?? []
    expect(effect?.enforcement?.['containers']).toHaveLength(2)
  })

  it('is what a host floor can demand, of which images and instead of which isolation', async () => {
    const floor = (more: object) => ({
      approvers: { permission: 'write' as const },
      preventSelfApproval: true,
      ...more,
    })
    const ports = (more: object) => ({ ports: { environment, hostFloor: floor(more) } })
    const plan = planned(shell('true'))
    expect((await start(scene(), plan, ports({ minimumIsolation: 'container' }))).messages).toEqual([])
    expect((await start(scene(), plan, ports({ images: [busybox.reference] }))).messages).toEqual([])
    const other = await start(scene(), plan, ports({ images: ['sha256:none'] }))
    expect([other.exitCode, other.messages.join()]).toEqual([3, expect.stringContaining('images (floor) refuses')])
    const cell = await start(scene(), plan, ports({ minimumIsolation: 'cell' }))
    expect([cell.exitCode, cell.messages.join()]).toEqual([3, expect.stringContaining('minimumIsolation (floor)')])
    const host = planned(
      { kind: 'builtin.shell.exec', command: '/bin/true' },
      { ...freely, processAllowlist: ['true'] },
    )
    const weak = await start(scene(), host, ports({ minimumIsolation: 'container' }))
    expect([weak.exitCode, weak.messages.join()]).toEqual([3, expect.stringContaining('minimumIsolation (floor)')])
  })

  it('leaves its task as it was when the run is cancelled, and no container', async () => {
    const where = scene()
    const stop = new AbortController()
    const plan = planned(shell('echo up; sleep 100'))
    const outcome = await start(where, plan, {
      ports: {
        environment,
        signal: stop.signal,
        report: event => {
          if (event.type === 'output') stop.abort(new Error('cancelled'))
        },
      },
    })
    expect(outcome.exitCode).toBe(130)
    expect(statesOf(where, outcome.run)['a']).toBe('uncertain')
  })
})

describe('no engine', () => {
  it('is touched by a prediction', async () => {
    const image = `sha256:${'0'.repeat(64)}`
    const plan = planOf({
      policy: never,
      actions: { x: { kind: 'builtin.shell.exec', ...base, isolation: 'container', container: { image } } },
      tasks: [{ id: 'a', uses: 'action:x' }],
    })
    const { tasks } = await predict(scene(), plan, { environment: { DOCKER_HOST: 'unix:///nowhere/at/all' } })
    expect(tasks).toMatchObject([{ outcome: 'unknown', reason: expect.stringContaining('engine') }])
  })
})
