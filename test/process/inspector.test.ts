import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { createServer as createTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { bundle } from '../../build.ts'
import { isRoot } from './support.ts'

/** The built entries against a process of their own user that wants into them through Node's inspector. */
const stranger = 65_531
let folder: string
let node: string

/** `attack.mjs PORT FILE PID`: signals, asks the port for a second, writes what came of it. */
const attack = `
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
const [port, file, pid] = process.argv.slice(2)
const target = Number(pid) || process.ppid
process.kill(target, 'SIGUSR1')
const seen = new Set()
const deadline = performance.now() + 1_000
while (performance.now() < deadline) {
  const socket = connect(Number(port), '127.0.0.1')
  seen.add(await new Promise(resolve => socket.on('connect', () => resolve('open')).on('error', error => resolve(error.code))))
  socket.destroy()
  for (const name of ['environ', 'mem']) try { readFileSync('/proc/' + target + '/' + name, { flag: 'r' }); seen.add('read:' + name) } catch (error) { if (error.code !== 'EACCES' && error.code !== 'EPERM') seen.add('read:' + name) }
  await new Promise(resolve => setTimeout(resolve, 10))
}
process.kill(target, 0)
writeFileSync(file, [...seen].sort().join(' '))
`

/** A signal before the first line of ours: Node opens its inspector at once, or a little later. */
const early = {
  atOnce: `process.kill(process.pid, 'SIGUSR1'); const until = performance.now() + 100; while (performance.now() < until);`,
  later: `process.kill(process.pid, 'SIGUSR1')`,
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agentctl-inspector-'))
  chmodSync(folder, 0o755)
  await bundle(join(folder, 'dist'))
  writeFileSync(join(folder, 'attack.mjs'), attack)
  for (const [name, code] of Object.entries(early)) writeFileSync(join(folder, `${name}.mjs`), code)
  node = join(folder, 'node')
  try {
    linkSync(process.execPath, node)
  } catch {
    copyFileSync(process.execPath, node)
  }
})
afterAll(() => {
  rmSync(folder, { recursive: true })
  rmSync(`/tmp/agentctl-${stranger}`, { recursive: true, force: true })
})

const places: string[] = []
const servers: Server[] = []
afterEach(() => {
  for (const place of places.splice(0)) rmSync(place, { recursive: true, force: true })
  for (const server of servers.splice(0)) server.close()
})

async function listening(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

async function freePort(): Promise<number> {
  const server = createTcp()
  const port = await listening(server)
  await new Promise(resolve => server.close(resolve))
  return port
}

type Entry = 'cli' | 'index' | 'post'
const entries: Entry[] = ['cli', 'index', 'post']
/** Root is tried as itself and as a stranger; who reads its own memory as root is nobody to be kept out. */
const users = isRoot ? (['root', 'another user'] as const) : (['this user'] as const)
type User = (typeof users)[number]
const accountOf = (user: User) => (user === 'another user' ? { uid: stranger, gid: stranger } : {})

/** An entry whose effect (of post: whose neighbour) attacks it; what the attacker saw, and the entry's end. */
async function attacked(entry: Entry, user: User, options: (port: number) => string) {
  const place = mkdtempSync(join(tmpdir(), 'agentctl-inspected-'))
  places.push(place)
  chmodSync(place, 0o777)
  const port = await freePort()
  const seen = join(place, 'seen')
  const { promise: asked, resolve: heard } = Promise.withResolvers<void>()
  const silent = createServer((_, response) => {
    response.on('close', () => {})
    heard()
  })
  servers.push(silent)
  const silentUrl = `http://127.0.0.1:${await listening(silent)}`
  writeFileSync(
    join(place, 'flow.yaml'),
    `apiVersion: agentctl.dev/v1
kind: Workflow
metadata: { name: flow }
spec:
  policy: { processAllowlist: [sh], approval: never }
  actions:
    run: { kind: builtin.shell.exec, command: /bin/sh, args: [-c, "exec ${node} ${folder}/attack.mjs ${port} ${seen}"] }
  tasks:
    - { id: run, uses: "action:run" }
`,
  )
  for (const file of ['output', 'summary', 'state']) {
    writeFileSync(join(place, file), '')
    chmodSync(join(place, file), 0o666)
  }
  const environment = {
    PATH: '/usr/bin:/bin',
    NODE_OPTIONS: options(port),
    GITHUB_WORKSPACE: place,
    RUNNER_TEMP: place,
    GITHUB_REPOSITORY: 'octo/app',
    GITHUB_SHA: 'a'.repeat(40),
    GITHUB_EVENT_NAME: 'push',
    GITHUB_JOB: 'gate',
    GITHUB_ACTION: '__self',
    GITHUB_ACTOR: 'alice',
    GITHUB_OUTPUT: join(place, 'output'),
    GITHUB_STEP_SUMMARY: join(place, 'summary'),
    GITHUB_STATE: join(place, 'state'),
    INPUT_WORKFLOW: 'flow.yaml',
    ...(entry === 'post' && {
      STATE_document: 'flow.yaml',
      STATE_asker: 'main',
      'INPUT_CONTROL-PLANE-URL': silentUrl,
      'INPUT_GITHUB-TOKEN': 'ghs_of_the_job',
      'INPUT_JOB-ID': '5',
      INPUT_MATRIX: 'null',
      ACTIONS_ID_TOKEN_REQUEST_URL: `${silentUrl}/token`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
    }),
  }
  const more = entry === 'cli' ? ['run', 'flow.yaml', '--output', 'json'] : []
  const child = spawn(node, [join(folder, `dist/${entry}.js`), ...more], {
    cwd: place,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...accountOf(user),
  })
  const ended = endOf(child)
  if (entry === 'post') {
    await asked
    const attacker = spawn(node, [join(folder, 'attack.mjs'), `${port}`, seen, `${child.pid}`], {
      env: {},
      stdio: 'inherit',
      ...accountOf(user),
    })
    await once(attacker, 'exit')
    child.kill('SIGQUIT')
  }
  const end = await ended
  silent.closeAllConnections()
  return { ...end, seen: existsSync(seen) ? readFileSync(seen, 'utf8').split(' ') : [] }
}

async function endOf(child: ChildProcess): Promise<{ code: number | null; log: string }> {
  const [log, [code]] = await Promise.all([
    Promise.all([child.stdout, child.stderr].map(stream => (stream === null ? '' : text(stream)))),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { code, log: log.join('\n') }
}

/** As root everything may be read anyway. */
const sockets = (user: User, seen: string[]) => (user === 'root' ? seen.filter(each => !each.startsWith('read')) : seen)

describe.each(entries.flatMap(entry => users.map(user => [entry, user] as const)))('%s of %s', (entry, user) => {
  test('SIGUSR1 opens no inspector, and nothing of it can be read', async () => {
    const { seen, code, log } = await attacked(entry, user, port => `--inspect-port=127.0.0.1:${port}`)
    expect([sockets(user, seen), log, code]).toEqual([['ECONNREFUSED'], expect.not.stringContaining('Debugger'), 0])
  })

  test.each(['atOnce', 'later'] as const)('one that came before its first line is closed: opened %s', async when => {
    const options = (port: number) => `--inspect-port=127.0.0.1:${port} --import=${folder}/${when}.mjs`
    const { seen, code, log } = await attacked(entry, user, options)
    if (when === 'atOnce') expect(log).toContain('Debugger listening')
    expect([sockets(user, seen), code]).toEqual([['ECONNREFUSED'], 0])
  })
})

test('an inspector that the owner asked for stays', async () => {
  const [user = 'this user' as const] = users
  const { seen, code } = await attacked('cli', user, port => `--inspect=127.0.0.1:${port}`)
  expect([sockets(user, seen), code]).toEqual([['open'], 0])
})
