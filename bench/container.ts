import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import type Docker from 'dockerode'
import { openEmbedded, systemClock, systemIds } from '../ledger/index.ts'
import { defaultApprovalSettings } from '../policy/approval/record.ts'
import { compile, type Plan, parseDocument } from '../policy/document/index.ts'
import { findEngine } from '../runner/container/container.ts'
import { specOf } from '../runner/container/container-spec.ts'
import { dockerBody } from '../runner/container/docker-body.ts'
import { removeParent } from '../runner/container/memory-evidence.ts'
import { podmanSpec } from '../runner/container/podman-spec.ts'
import { podmanProfile } from '../runner/container/seccomp.ts'
import { startRun } from '../runner/index.ts'
import { type Engines, startEngines, type TestEngine } from '../test/engines/engines.ts'
import { whyNoEngines } from '../test/engines/packages.ts'
import { type BenchRow, pairs } from './bench.ts'

/** Pairs of each row. */
const rounds = 20
/** Containers in one turn: what a run costs by itself is shared among them. */
const tasks = 8

interface Bench {
  directory: string
  workspace: string
  engine: TestEngine
  image: string
}

/** Leaves a mount namespace with the hierarchies of cgroup v1 alone, and runs there what it is given. */
const withoutUnified = `set -e
top=$(mktemp -d)
mount -t tmpfs cgroup "$top"
for one in /sys/fs/cgroup/*/; do
  name=$(basename "$one")
  [ "$name" != unified ] || continue
  mkdir "$top/$name"
  mount --bind "$one" "$top/$name"
done
umount --lazy --recursive /sys/fs/cgroup
mount --move "$top" /sys/fs/cgroup
rmdir "$top"
exec "$0" "$@"`

/**
 * 08, Speed: a container action with all controls on, against the same engine calls and against the engine's own command.
 * Where cgroup v2 is mounted beside v1, which crun refuses, it sees v1 alone, and crun runs as it is.
 */
export async function bench(): Promise<BenchRow[]> {
  if (!existsSync('/sys/fs/cgroup/unified/cgroup.procs')) return await measure()
  const args = ['--mount', 'sh', '-c', withoutUnified, process.execPath, import.meta.filename]
  const { stdout } = await promisify(execFile)('unshare', args)
  return JSON.parse(stdout) as BenchRow[]
}

async function measure(): Promise<BenchRow[]> {
  const reason = whyNoEngines()
  if (reason !== null) throw new Error(`no engines to measure: ${reason}`)
  const engines = await startEngines()
  const base = path.join(import.meta.dirname, '../node_modules/.cache')
  mkdirSync(base, { recursive: true })
  const directory = mkdtempSync(path.join(base, 'agentctl-bench-'))
  try {
    return [...(await rowsOf(directory, engines, 'docker')), ...(await rowsOf(directory, engines, 'podman'))]
  } finally {
    rmSync(directory, { recursive: true, force: true })
    await removeParent('/agentctl-bench')
    await engines.stop()
  }
}

async function rowsOf(directory: string, engines: Engines, kind: 'docker' | 'podman'): Promise<BenchRow[]> {
  const workspace = path.join(directory, kind)
  mkdirSync(workspace)
  const { env, socket } = engines[kind]
  // Both sides at one service: else the action would start a private one.
  const engine = { ...engines[kind], env: kind === 'podman' ? { ...env, CONTAINER_HOST: `unix://${socket}` } : env }
  const here = { directory, workspace, engine, image: engines.busybox[kind].reference }
  const plan = planOf(here.image, kind)
  const { default: Dockerode } = await import('dockerode')
  const docker = new Dockerode({ socketPath: here.engine.socket })
  const calls = await pairs(
    rounds,
    () => run(here, plan),
    () => repeat(() => bareCalls(docker, here)),
  )
  const command = await pairs(
    rounds,
    () => run(here, plan),
    () => repeat(() => promisify(execFile)(kind, commandLine(here), { env })),
  )
  return [
    row(`container action on ${kind}, all controls on`, 'the same engine calls by bare dockerode', '<= 1.25x', calls),
    row(`container action on ${kind}, all controls on`, `\`${kind} run\` with the same flags`, '<= 0.60x', command),
  ]
}

function row(what: string, against: string, goal: string, measured: Awaited<ReturnType<typeof pairs>>): BenchRow {
  const { subject, peer, ratio } = measured
  const detail = `${(subject / tasks).toFixed(1)} ms against ${(peer / tasks).toFixed(1)} ms, medians of ${rounds} pairs`
  return { name: 'container', what, against, goal, ratio, detail }
}

async function repeat(once: () => Promise<unknown>): Promise<void> {
  for (let index = 0; index < tasks; index += 1) await once()
}

function planOf(image: string, runtime: string): Plan {
  const spec = {
    runtime: { maxConcurrency: 1 },
    policy: { approval: 'never', processAllowlist: ['true'] },
    actions: {
      tool: {
        kind: 'builtin.shell.exec',
        command: '/bin/true',
        isolation: 'container',
        container: { image, runtime },
        idempotency: 'idempotent',
      },
    },
    tasks: Array.from({ length: tasks }, (_, index) => ({ id: `t${index}`, uses: 'action:tool' })),
  }
  const text = JSON.stringify({ apiVersion: 'agentctl.dev/v1', kind: 'Workflow', metadata: { name: 'bench' }, spec })
  const { document } = parseDocument({ text, file: 'bench.yaml' })
  const plan = document === null ? null : compile({ document, inputs: {}, files: {}, floor: null }).plan
  if (plan === null) throw new Error('the bench document does not compile')
  return plan
}

async function run({ directory, workspace, engine }: Bench, plan: Plan): Promise<void> {
  const file = path.join(directory, `ledger-${engine.kind}.db`)
  const ledger = openEmbedded({ file, clock: systemClock, ids: systemIds })
  try {
    const outcome = await startRun(
      {
        ledger,
        clock: systemClock,
        ids: systemIds,
        workspace,
        environment: engine.env,
        protectedPaths: [],
        temporaryDirectories: [],
        searchPath: [],
        signal: new AbortController().signal,
        report() {},
      },
      {
        run: systemIds.uuid(),
        epoch: 1,
        plan,
        document: 'bench.yaml',
        commit: { sha: null, head: null },
        settings: defaultApprovalSettings,
        resumeWith: 'rerun',
        parent: null,
      },
    )
    if (outcome.state !== 'succeeded') throw new Error(outcome.messages.join('\n'))
  } finally {
    await ledger.close()
  }
}

/** The same calls with the same bodies, without a decision, a record, or a look at what came of it. */
async function bareCalls(docker: Docker, { engine: { kind, env }, image: reference, workspace }: Bench): Promise<void> {
  const { engine, image } = await findEngine(kind, reference, env)
  const spec = specOf({ ...asked, engine, image, cwd: { path: workspace, fd: null } })
  const container =
    kind === 'docker'
      ? await docker.createContainer(dockerBody(spec) as Docker.ContainerCreateOptions)
      : docker.getContainer(await createByPodman(docker, podmanSpec(spec, settings())))
  const stream = (await container.attach({ stream: true, stdout: true, stderr: true, hijack: true })) as Duplex
  stream.resume()
  // Podman's `next-exit` misses a container that is quick: the end of its output tells.
  const ended = kind === 'docker' ? container.wait({ condition: 'next-exit' }) : once(stream, 'close')
  await container.start()
  // Podman fails where the process ends while it is looked at.
  await container.inspect().catch(() => {})
  await ended
  const { State } = await container.inspect()
  if (State.ExitCode !== 0) throw new Error(`the container ended with ${State.ExitCode}`)
  await container.remove({ force: true, v: true })
  const isThere = await container.inspect().then(
    () => true,
    () => false,
  )
  if (isThere) throw new Error('the container is still there')
  if (spec.cgroupParent !== null) await removeParent(spec.cgroupParent)
}

/** As the documents of the bench ask for it, with the defaults. */
const asked = {
  command: '/bin/true',
  args: [],
  environment: {},
  stdin: null,
  timeoutSeconds: 120,
  limits: { stdout: 1, stderr: 1, combined: 1 },
  memoryLimitBytes: 268_435_456,
  cpuLimitMillis: 1_000,
  pidsLimit: 64,
  run: 'bench',
  effect: 'bench',
  onOutput() {},
  signal: new AbortController().signal,
}

/** As agentctl finds them for the Podman of the engines here: crun on cgroups of version 1. */
const settings = () => ({ seccompProfile: podmanProfile(), coversCgroups: true })

async function createByPodman(docker: Docker, body: object): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<{ Id: string }>()
  docker.modem.dial(
    {
      path: '/v4.0.0/libpod/containers/create',
      method: 'POST',
      options: { _body: body },
      statusCodes: { 201: true },
    },
    (error: Error | null, made: unknown) => (error === null ? resolve(made as { Id: string }) : reject(error)),
  )
  return (await promise).Id
}

/** The flags of the fixed controls; what has none, such as unsetting the image's variables, is left out. */
function commandLine({ engine: { kind }, image, workspace }: Bench): string[] {
  const own =
    kind === 'podman'
      ? [
          `--security-opt=seccomp=${podmanProfile()}`,
          '--read-only-tmpfs=false',
          '--cgroups=no-conmon',
          '--cgroup-parent=/agentctl-bench',
          '--tmpfs=/sys/fs/cgroup:ro,noexec,nosuid,nodev,size=4096',
          '--ulimit=nproc=1024:1024',
        ]
      : []
  return [
    'run',
    ...own,
    '--rm',
    '--pull=never',
    '--read-only',
    '--user=65532:65532',
    '--network=none',
    '--ipc=none',
    '--cgroupns=private',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    '--log-driver=none',
    '--no-healthcheck',
    '--memory=268435456',
    '--memory-swap=268435456',
    '--cpu-period=1000000',
    '--cpu-quota=1000000',
    '--pids-limit=64',
    '--hostname=agentctl',
    '--ulimit=nofile=4096:4096',
    '--tmpfs=/dev/mqueue:ro,noexec,nosuid,nodev,size=4096',
    '--workdir=/workspace',
    '--tmpfs=/tmp:rw,noexec,nosuid,nodev,size=16777216,mode=1777',
    `--mount=type=bind,source=${workspace},target=/workspace,readonly`,
    '--entrypoint=/bin/true',
    image,
  ]
}

if (import.meta.main) process.stdout.write(JSON.stringify(await measure()))
