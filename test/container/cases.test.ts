import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { findEngine } from '../../runner/container/container.ts'
import { documentOf } from '../cli/support.ts'
import { askEngine } from '../engines/api.ts'
import { describeEngines } from '../engines/provided.ts'
import { type BuiltCli, buildCli } from '../process-policy/built-cli.ts'
import { thrown } from '../thrown.ts'
import { useRoom } from './probes/support.ts'
import { proxyOf } from './proxy.ts'

// Public reports (cases) where a container is what they happen to; 21, 24 and 25 stand where their kind is tested: probes/crash,
// executor, probes/limits and parts.

describeEngines('case 22: a container whose output breaks off', one => {
  const room = useRoom(one)
  const line = Buffer.byteLength('1\n')

  const cutAfter = async (bytes: number, script = 'echo 1; sleep 4; echo 2') => {
    const proxy = await proxyOf(one.engine, bytes)
    onTestFinished(() => proxy.close())
    const { engine } = await findEngine(one.engine.kind, one.busybox.reference, proxy.environment)
    return await room.probe(['-c', script], { command: '/bin/sh', engine })
  }

  it.each([
    ['within a frame', 8 + 1],
    ['between two frames', 8 + line],
    ['before the first, each time', 0],
  ])('is no success, whatever it ends with: %s', async (_, bytes) => {
    expect((await cutAfter(bytes)).end.kind).toBeOneOf(bytes === 0 ? ['lost', 'spawn_failed'] : ['lost'])
  })

  it.each([
    'echo 1; sleep 0.1; echo 2; sleep 1; exit 0',
    'echo 1; sleep 0.2; echo 2',
    'sleep 0.3; echo 1; sleep 0.2; echo 2',
  ])('is no success where it ends soon after: %s', async script => {
    const { end, stdout } = await cutAfter(8 + line, script)
    expect({ end, stdout }).toMatchObject({ end: { kind: 'lost' }, stdout: '1\n' })
  })

  it('is what it ends with where the program itself closed its output', async () => {
    const script = 'echo 1; exec >&- 2>&-; sleep 2; exit 5'
    const { end, stdout } = await room.probe(['-c', script], { command: '/bin/sh' })
    expect({ end, stdout }).toEqual({ end: { kind: 'exited', code: 5 }, stdout: '1\n' })
  })
})

describeEngines('case 23: an engine call that throws anything', one => {
  const room = useRoom(one)

  it.each(thrown)('%s', async (_, value) => {
    const { engine } = await room.find()
    for (const name of ['create', 'attach', 'start', 'inspect', 'wait'] as const) {
      const broken = {
        ...engine,
        async [name]() {
          throw value
        },
      }
      const { end } = await room.probe(['exit', '0'], { engine: broken })
      expect(end, name).toMatchObject({
        kind: expect.stringMatching(/^(spawn_failed|lost)$/),
        message: expect.stringMatching(/./),
      })
    }
  })
})

describeEngines('the command line with a container', ({ engine, busybox }) => {
  let built: BuiltCli
  let folder: string
  let workspace: string
  beforeAll(async () => {
    built = await buildCli()
    folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'agentctl case ')))
    // 65532 must pass.
    chmodSync(folder, 0o755)
    workspace = path.join(folder, '-größe 大, $(id)')
    mkdirSync(workspace)
  })
  afterAll(() => {
    built.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  // No HOME, no USER: only where the engine is.
  const { HOME: _, ...reduced } = engine.env
  const environment = { ...reduced, ...(engine.kind === 'podman' && { CONTAINER_HOST: `unix://${engine.socket}` }) }
  const shell = (...args: string[]) => ({
    kind: 'builtin.shell.exec',
    command: '/bin/sh',
    args: ['-c', ...args],
    isolation: 'container',
    container: { image: busybox.reference, runtime: engine.kind },
    timeoutSeconds: 60,
  })
  /** A document of these actions, one after another, each a task of the same name. */
  function put(actions: { [task: string]: object }): string {
    const names = Object.keys(actions)
    const document = documentOf({
      policy: { processAllowlist: ['sh'], writableRoots: ['out'], approval: 'never' },
      outputs: Object.fromEntries(names.map(name => [name, `\${{ tasks.${name}.output }}`])),
      actions,
      tasks: names.map((name, index) => ({ id: name, uses: `action:${name}`, needs: names.slice(0, index) })),
    })
    writeFileSync(path.join(workspace, 'flow.yaml'), document)
    return 'flow.yaml'
  }

  it('case 27: what a container prints is data of the next one, never syntax', async () => {
    const odd = '-x\n$(touch /tmp/pwned) `id`\n::set-output name=a::b\n${{ tasks.none }}\n\' " \\ ü\u2028'
    const file = put({
      // Written so that it is no template of the document itself.
      first: shell(`printf %s "$1" | sed 's/@/{/g'`, 'sh', odd.replace('${{', '$@@')),
      kept: { kind: 'builtin.write', with: { path: 'out/kept', content: '${{ tasks.first.output.stdout }}' } },
      second: shell('cat out/kept; test ! -e /tmp/pwned'),
    })
    const ended = await built.run(workspace, environment, ['run', file, '--output', 'json'])
    expect(ended.code, ended.stderr).toBe(0)
    const { first, second } = JSON.parse(ended.stdout).data.output
    expect([first.stdout, second.stdout]).toEqual([odd, odd])
  })

  it('case 28: HOME is unset, no user is named, the workspace has spaces and non-ASCII letters', async () => {
    const file = put({ one: shell('head -c 1 flow.yaml; pwd; echo $HOME') })
    const ended = await built.run(workspace, environment, ['run', file, '--output', 'json'])
    expect(ended.code, ended.stderr).toBe(0)
    expect(JSON.parse(ended.stdout).data.output.one.stdout).toBe('{/workspace\n/tmp\n')
  })

  it.each(['SIGHUP', 'SIGINT', 'SIGTERM'] as const)('case 26: %s cancels, and no container is left', async signal => {
    const file = put({ long: shell('trap "" HUP INT TERM; echo up; sleep 300') })
    const child = spawn(process.execPath, [path.join(built.folder, 'cli.js'), 'run', file], {
      cwd: workspace,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(child, 'close')
    const effects = async () => {
      const listed = JSON.parse(await askEngine(engine, 'GET', '/containers/json')) as {
        Labels: { [name: string]: string }
      }[]
      return listed.filter(({ Labels }) => Labels['dev.agentctl.run'] !== undefined)
    }
    while ((await effects()).length === 0) await sleep(20)
    child.kill(signal)
    expect(await ended).toEqual([130, null])
    expect(await effects()).toEqual([])
  })
})
