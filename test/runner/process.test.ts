import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import type { RunnerPorts, RunOutcome } from '../../runner/index.ts'
import { createScene, freshWorkspace, getFile, planOf, putFile, resume, type Scene, start, vote } from './support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

interface Tool extends JsonObject {
  command: string
}

interface Settings {
  policy?: JsonObject
  ports?: Partial<RunnerPorts>
  task?: JsonObject
}

/** Runs one process action with everything allowed that its test does not take back. */
function run(tool: Tool, { policy, ports, task }: Settings = {}): Promise<RunOutcome> {
  const plan = planOf({
    policy: {
      approval: 'never',
      writableRoots: ['out'],
      processAllowlist: [path.basename(tool.command)],
      environmentAllowlist: Object.keys((tool['env'] as JsonObject | undefined) ?? {}),
      ...policy,
    },
    outputs: { result: '${{ tasks.tool.output }}' },
    actions: { tool: { kind: 'builtin.shell.exec', ...tool } },
    tasks: [{ id: 'tool', uses: 'action:tool', ...task }],
  })
  return start(scene, plan, ports === undefined ? {} : { ports })
}

const sh = (script: string, more: JsonObject = {}): Tool => ({ command: '/bin/sh', args: ['-c', script], ...more })

function resultOf(outcome: RunOutcome): JsonObject {
  return (outcome.outputs as { result: JsonObject } | null)?.result ?? {}
}

function codeOf(outcome: RunOutcome): string {
  return /\(([a-z_]+)\)/.exec(outcome.messages[0] ?? '')?.[1] ?? ''
}

function effectOf(outcome: RunOutcome) {
  const [effect] = scene.ledger.store.effects(outcome.run)
  if (effect === undefined) throw new Error('no effect')
  return effect
}

describe('how a process is started', () => {
  test('direct argv, no shell, argv[0] as written, empty environment, stdin at its end, canonical cwd', async () => {
    putFile(scene, 'sub dir/keep', '')
    symlinkSync('sub dir', path.join(scene.workspace, 'link'))
    const outcome = await run({
      command: '/bin/sh',
      args: ['-c', 'echo "$0|$1|$2"; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= ; cat; pwd', 'zero', '$(id) ; *', ''],
      cwd: 'link',
    })
    expect(resultOf(outcome)).toEqual({
      status: 'changed',
      changed: true,
      exitCode: 0,
      stdout: `zero|$(id) ; *|\n${path.join(scene.workspace, 'sub dir')}\n`,
      stderr: '',
    })
  })

  test('its own session, and no descriptor but 0 to 3', async () => {
    const list = 'ls /proc/self/fd | tr "\\n" " "; cut -d" " -f1,5,6 /proc/$$/stat; echo $$'
    const [line = '', pid] = String(resultOf(await run(sh(list)))['stdout']).split('\n')
    const [descriptors, session] = [line.split(' ').slice(0, -3), line.split(' ').slice(-3)]
    // 4 is the listing's own.
    expect(descriptors).toEqual(['0', '1', '2', '3', '4'])
    expect(session).toEqual([pid, pid, pid])
  })

  test('the file that was hashed runs, whatever is put in its place afterwards', async () => {
    mkdirSync(path.join(scene.directory, 'bin'))
    const tool = path.join(scene.directory, 'bin/tool')
    copyFileSync('/bin/true', tool)
    chmodSync(tool, 0o755)
    expect(await run({ command: tool })).toMatchObject({ state: 'succeeded' })
  })

  test('a script runs by descriptor, with its arguments', async () => {
    const tool = putFile(scene, 'bin/tool', '#!/bin/sh\necho "$1"\n', 0o755)
    chmodSync(tool, 0o755)
    expect(resultOf(await run({ command: './bin/tool', args: ['one'] }))).toMatchObject({ stdout: 'one\n' })
  })

  test("bare names are found on the fixed path and the floor's, never in the workspace", async () => {
    putFile(scene, 'agentctl-probe', '#!/bin/sh\necho workspace\n', 0o755)
    expect(codeOf(await run({ command: 'agentctl-probe' }))).toBe('command_not_found')
    const directory = path.join(scene.directory, 'cache')
    mkdirSync(directory)
    writeFileSync(path.join(directory, 'agentctl-probe'), '#!/bin/sh\necho cache\n', { mode: 0o755 })
    const outcome = await run({ command: 'agentctl-probe' }, { ports: { searchPath: [directory] } })
    expect(resultOf(outcome)).toMatchObject({ stdout: 'cache\n' })
    expect(resultOf(await run({ command: 'true' }))).toMatchObject({ exitCode: 0 })
  })
})

describe('nothing is requested where nothing can run', () => {
  const cases: [name: string, tool: (here: Scene) => Tool, code: string][] = [
    ['no such command', () => ({ command: 'agentctl-no-such-command' }), 'command_not_found'],
    ['no such file', () => ({ command: '/usr/bin/agentctl-no-such' }), 'command_not_found'],
    ['a directory', () => ({ command: '/usr/bin' }), 'command_is_directory'],
    ['not executable', here => ({ command: putFile(here, 'tool', '#!/bin/sh\n') }), 'command_not_executable'],
    [
      'neither binary nor script',
      here => ({ command: putFile(here, 'tool', 'echo hi\n', 0o755) }),
      'command_not_executable',
    ],
    [
      'an interpreter that depends on the working directory',
      here => ({
        command: putFile(here, 'tool', `#!${path.relative(process.cwd(), '/bin/true')}\n`, 0o755),
      }),
      'bad_interpreter',
    ],
    [
      'a script that is its own interpreter',
      here => {
        const command = path.join(here.directory, 'tool')
        writeFileSync(command, `#!${command}\n`, { mode: 0o755 })
        return { command }
      },
      'bad_interpreter',
    ],
    ['an absent interpreter', here => ({ command: putFile(here, 'tool', '#!/no/such\n', 0o755) }), 'bad_interpreter'],
    ["an argument beyond the kernel's bound", () => sh(`true # ${'x'.repeat(140_000)}`), 'argv_too_long'],
  ]
  test.each(cases)('%s', async (_, tool, code) => {
    const outcome = await run(tool(scene))
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(codeOf(outcome)).toBe(code)
    expect(scene.ledger.store.effects(outcome.run)).toEqual([])
  })

  test('a secret too short to hide is refused by name', async () => {
    const outcome = await run(sh('true', { env: { TOKEN: { env: 'TOKEN' } } }), {
      ports: { environment: { TOKEN: 'abc' } },
    })
    expect(outcome.state).toBe('denied')
    expect(effectOf(outcome).decision.steps.at(-1)).toMatchObject({ rule: 'secret_refused' })
  })
})

/** An interpreter in a temporary directory; a `#!` line ends at a space, which the workspace's own path has. */
function replaceableInterpreter(here: Scene): { interpreter: string; ports: Partial<RunnerPorts> } {
  const directory = path.join(here.directory, 'temporary')
  mkdirSync(directory)
  const interpreter = path.join(directory, 'interpreter')
  copyFileSync('/bin/true', interpreter)
  chmodSync(interpreter, 0o755)
  return { interpreter, ports: { temporaryDirectories: [directory] } }
}

describe('the allowlist is about the file that runs', () => {
  const cases: [
    name: string,
    (here: Scene) => { command: string; allow: string[]; ports?: Partial<RunnerPorts> },
    rule: string,
  ][] = [
    ['another basename', () => ({ command: '/bin/sh', allow: ['git'] }), 'processAllowlist'],
    [
      'a name with a space behind it',
      here => ({ command: putFile(here, 'git ', '#!/bin/sh\n', 0o755), allow: ['git'] }),
      'processAllowlist',
    ],
    [
      'a file under a writable root',
      here => ({ command: putFile(here, 'out/git', '#!/bin/sh\n', 0o755), allow: ['git'] }),
      'untrusted_program',
    ],
    [
      'a link under a writable root',
      here => {
        putFile(here, 'out/keep', '')
        symlinkSync('/bin/true', path.join(here.workspace, 'out/true'))
        return { command: './out/true', allow: ['true'] }
      },
      'untrusted_program',
    ],
    [
      'a link into a writable root',
      here => {
        putFile(here, 'out/real', '#!/bin/sh\n', 0o755)
        symlinkSync('out/real', path.join(here.workspace, 'tool'))
        return { command: './tool', allow: ['tool'] }
      },
      'untrusted_program',
    ],
    [
      'a script whose interpreter could be replaced',
      here => {
        const { interpreter, ports } = replaceableInterpreter(here)
        return { command: putFile(here, 'git', `#!${interpreter}\n`, 0o755), allow: ['git'], ports }
      },
      'untrusted_program',
    ],
    [
      "a script whose interpreter's interpreter could be",
      here => {
        const { interpreter, ports } = replaceableInterpreter(here)
        const between = path.join(here.directory, 'between')
        writeFileSync(between, `#!${interpreter}\n`, { mode: 0o755 })
        return { command: putFile(here, 'git', `#!${between}\n`, 0o755), allow: ['git'], ports }
      },
      'untrusted_program',
    ],
    [
      'a directory that others may write',
      here => {
        const command = putFile(here, 'open/git', '#!/bin/sh\n', 0o755)
        chmodSync(path.join(here.workspace, 'open'), 0o777)
        return { command, allow: ['git'] }
      },
      'untrusted_program',
    ],
    [
      "the runner's temp",
      here => ({
        command: putFile(here, 'runner-temp/git', '#!/bin/sh\n', 0o755),
        allow: ['git'],
        ports: { temporaryDirectories: [path.join(here.workspace, 'runner-temp')] },
      }),
      'untrusted_program',
    ],
  ]
  test.each(cases)('refused: %s', async (_, make, rule) => {
    const { command, allow, ports = {} } = make(scene)
    const outcome = await run({ command }, { policy: { processAllowlist: allow }, ports })
    expect(outcome).toMatchObject({ state: 'denied', exitCode: 3 })
    expect(effectOf(outcome).decision.steps.at(-1)).toMatchObject({ outcome: 'deny', rule })
  })

  test('an exact real path allows that file wherever it lies, and the record names it', async () => {
    const command = putFile(scene, 'out/git', '#!/bin/sh\necho mine\n', 0o755)
    chmodSync(command, 0o755)
    const outcome = await run({ command }, { policy: { processAllowlist: [command] } })
    expect(resultOf(outcome)).toMatchObject({ stdout: 'mine\n' })
    expect(effectOf(outcome).binding).toMatchObject({ executable: { path: command } })
  })

  test.each(['/etc', '../', 'absent', 'link-out'])('cwd %j is refused', async cwd => {
    symlinkSync('/etc', path.join(scene.workspace, 'link-out'))
    expect(await run({ command: '/bin/true', cwd })).toMatchObject({ state: 'denied', exitCode: 3 })
  })

  test.each([
    ['a variable that is not allowed', ['OTHER'], { TOKEN: 'a-secret' }, 'environmentAllowlist'],
    ['a variable that is not set', ['TOKEN'], {}, 'missing_variable'],
  ])('refused: %s', async (_, environmentAllowlist, environment, rule) => {
    const outcome = await run(sh('true', { env: { TOKEN: { env: 'TOKEN' } } }), {
      policy: { environmentAllowlist },
      ports: { environment },
    })
    expect(outcome.state).toBe('denied')
    expect(effectOf(outcome).decision.steps.at(-1)).toMatchObject({ rule })
  })
})

describe('how a process ends', () => {
  test.each([1, 2, 42, 125, 126, 127, 128, 137, 139, 255])('exit code %i is a definite failure', async code => {
    const outcome = await run(sh(`echo out; echo err >&2; exit ${code}`))
    expect(outcome).toMatchObject({ state: 'failed', exitCode: 4 })
    expect(effectOf(outcome)).toMatchObject({
      state: 'failed',
      result: { exitCode: code, stdout: 'out\n', stderr: 'err\n' },
    })
  })

  test('a signal is a failure that names it', async () => {
    const outcome = await run(sh('kill -9 $$'))
    expect(effectOf(outcome)).toMatchObject({ state: 'failed', error: { code: 'signalled' } })
    expect(outcome.messages[0]).toContain('SIGKILL')
  })

  test('a timeout is uncertain, and the whole tree is gone', async () => {
    const marker = path.join(scene.directory, 'alive')
    const outcome = await run(
      sh(`(trap "" TERM; while :; do date +%s%N > '${marker}'; sleep 0.05; done) & trap "" TERM; sleep 30`, {
        timeoutSeconds: 1,
      }),
    )
    expect(outcome).toMatchObject({ state: 'uncertain', exitCode: 4 })
    expect(outcome.messages.join('\n')).toContain('agentctl effects reconcile')
    const last = readFileSync(marker, 'utf8')
    await sleep(300)
    expect(readFileSync(marker, 'utf8')).toBe(last)
  })

  test.each([
    ['stdout', 'head -c %d /dev/zero | tr "\\\\0" x', { stdoutLimitBytes: 1000 }],
    ['stderr', 'head -c %d /dev/zero | tr "\\\\0" x >&2', { stderrLimitBytes: 1000 }],
    [
      'combined',
      'head -c 400 /dev/zero | tr "\\\\0" x; head -c $((%d - 400)) /dev/zero | tr "\\\\0" x >&2',
      { combinedOutputLimitBytes: 1000 },
    ],
  ])('%s: exactly its limit passes, one byte more kills at once', async (stream, script, limits) => {
    const printing = (bytes: number) => script.replace('%d', String(bytes)).replaceAll('\\\\', '\\')
    const exact = await run(sh(printing(1000), limits))
    expect(exact.state).toBe('succeeded')
    const { stdout, stderr } = resultOf(exact)
    expect(`${stdout}${stderr}`).toHaveLength(1000)
    const began = performance.now()
    const over = await run(sh(`${printing(1001)}; sleep 20`, limits))
    expect(performance.now() - began).toBeLessThan(10_000)
    const effect = effectOf(over)
    expect(effect).toMatchObject({ state: 'failed', error: { code: 'output_exceeded' } })
    expect(effect.error?.message).toContain(`${stream} went beyond 1000 bytes`)
    const kept = effect.result as JsonObject
    expect(`${kept['stdout']}${kept['stderr']}`.length).toBeLessThanOrEqual(1000)
  })

  test('a grandchild that keeps a pipe open does not hold the action, and is ended', async () => {
    const marker = path.join(scene.directory, 'alive')
    const began = performance.now()
    const outcome = await run(sh(`(while :; do date +%s%N > '${marker}'; sleep 0.05; done) & echo done`))
    expect(performance.now() - began).toBeLessThan(5_000)
    expect(resultOf(outcome)).toMatchObject({ exitCode: 0, stdout: 'done\n' })
    const last = existsSync(marker) ? readFileSync(marker, 'utf8') : ''
    await sleep(300)
    expect(existsSync(marker) ? readFileSync(marker, 'utf8') : '').toBe(last)
  })

  test('cancel ends it; what it had done is uncertain, what waits never starts, exit 130', async () => {
    const controller = new AbortController()
    const log = path.join(scene.directory, 'log')
    const plan = planOf({
      policy: { approval: 'never', processAllowlist: ['sh'] },
      actions: {
        long: { kind: 'builtin.shell.exec', ...sh(`echo started > '${log}'; sleep 30`) },
        next: { kind: 'builtin.shell.exec', ...sh(`echo next >> '${log}'`) },
      },
      tasks: [
        { id: 'long', uses: 'action:long' },
        { id: 'next', uses: 'action:next' },
      ],
    })
    const running = start(scene, plan, { ports: { signal: controller.signal } })
    while (!existsSync(log)) await sleep(10)
    controller.abort(new Error('SIGINT'))
    const outcome = await running
    expect(outcome).toMatchObject({ state: 'uncertain', exitCode: 130 })
    expect(outcome.messages.join('\n')).toContain('SIGINT')
    expect(readFileSync(log, 'utf8')).toBe('started\n')
  })
})

describe('secrets', () => {
  const environment = { TOKEN: 'correct horse battery' }
  const env = { TOKEN: { env: 'TOKEN' } }

  test('the child has the value; ledger, live output and messages never do, in any form', async () => {
    const outcome = await run(sh('echo "$TOKEN"; printf %s "$TOKEN" | base64; echo "$TOKEN" >&2; exit 3', { env }), {
      ports: { environment },
    })
    expect(outcome.state).toBe('failed')
    const everything = JSON.stringify([
      outcome,
      scene.events,
      scene.ledger.store.snapshot(outcome.run),
      [...scene.ledger.store.exportLines()],
    ])
    expect(everything).not.toContain('correct horse')
    expect(everything).not.toContain(Buffer.from(environment.TOKEN).toString('base64').slice(0, -2))
    expect(JSON.stringify(scene.events)).toContain('***')
    expect(effectOf(outcome).binding).toMatchObject({ environment: { TOKEN: { source: 'TOKEN' } } })
  })

  test('split between two reads it is found all the same', async () => {
    await run(sh('printf "correct hor"; sleep 0.2; echo "se battery"', { env }), { ports: { environment } })
    const live = scene.events.flatMap(event => (event.type === 'output' ? [event.text] : [])).join('')
    expect(live).toBe('***\n')
  })

  test('a file that holds one is not kept: secret_in_artifact', async () => {
    putFile(scene, 'out/keep', '')
    const outcome = await run(sh('echo "$TOKEN" > out/leak', { env, artifacts: ['out/**'] }), {
      ports: { environment },
    })
    expect(outcome.state).toBe('failed')
    expect(codeOf(outcome)).toBe('secret_in_artifact')
    expect(effectOf(outcome).artifacts).toEqual([])
  })
})

describe('artifacts of a process', () => {
  const files = { 'out/kept': 'same', 'out/changed': 'before', 'out/gone': 'x', elsewhere: '' }
  const script =
    'mkdir -p out/new; echo after > out/changed; rm out/gone; echo new > out/new/file; chmod 755 out/new/file; echo no > elsewhere; ln -s /etc/passwd out/link'

  test('what changed under a writable root is kept and restored in a new workspace; nothing else is', async () => {
    for (const [name, content] of Object.entries(files)) putFile(scene, name, content)
    const plan = planOf({
      policy: { approval: 'mutations', writableRoots: ['out'], processAllowlist: ['sh', 'true'] },
      actions: {
        tool: { kind: 'builtin.shell.exec', ...sh(script), artifacts: ['out/**', 'elsewhere'] },
        next: { kind: 'builtin.shell.exec', command: '/bin/true', args: ['out/new/file'] },
      },
      tasks: [
        { id: 'tool', uses: 'action:tool' },
        { id: 'next', uses: 'action:next', needs: ['tool'] },
      ],
    })
    const first = await start(scene, plan)
    vote(scene, first, 'approve')
    const second = await resume(scene, first.run)
    expect(second.state).toBe('paused')
    const [tool] = scene.ledger.store.effects(first.run)
    expect(tool?.artifacts.map(({ path: place, mode, blob }) => [place, mode, blob === null])).toEqual([
      ['out/changed', 0o644, false],
      ['out/new/file', 0o755, false],
      ['out/gone', 0o644, true],
    ])
    vote(scene, second, 'approve')
    freshWorkspace(scene, files)
    expect(await resume(scene, first.run)).toMatchObject({ state: 'succeeded' })
    expect(['changed', 'new/file', 'gone', 'kept'].map(name => getFile(scene, `out/${name}`))).toEqual([
      'after\n',
      'new\n',
      null,
      'same',
    ])
    expect(getFile(scene, 'elsewhere')).toBe('')
    expect(scene.events.flatMap(event => (event.type === 'restored' ? [event.path] : []))).toEqual([
      'out/changed',
      'out/new/file',
      'out/gone',
    ])
  })

  test('more than maxArtifactBytes is refused by name', async () => {
    putFile(scene, 'out/keep', '')
    const plan = planOf({
      runtime: { budgets: { maxArtifactBytes: 1000 } },
      policy: { approval: 'never', writableRoots: ['out'], processAllowlist: ['sh'] },
      actions: {
        tool: { kind: 'builtin.shell.exec', ...sh('head -c 1001 /dev/zero > out/big'), artifacts: ['out/**'] },
        write: { kind: 'builtin.write' },
      },
      tasks: [
        { id: 'write', uses: 'action:write', failure: 'continue', with: { path: 'out/w', content: 'x'.repeat(1001) } },
        { id: 'tool', uses: 'action:tool' },
      ],
    })
    const outcome = await start(scene, plan)
    expect(outcome.messages).toHaveLength(2)
    for (const message of outcome.messages) expect(message).toContain('artifact_limit')
    expect(getFile(scene, 'out/w')).toBeNull()
  })
})
