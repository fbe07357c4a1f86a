import { z } from 'zod'
import { type Connection, EngineClient } from './client.ts'
import { imageOf, namesIn } from './docker.ts'
import type { ContainerSpec, Controls, Engine } from './engine.ts'
import {
  coveredPlaces,
  cpuPeriodMicroseconds,
  environmentOf,
  hostname,
  openFiles,
  quotaOf,
  tmpBytes,
  user,
  workspace,
} from './fixed.ts'

/** Version of the native API that is spoken: each newer Podman understands it. */
const native = '/v4.0.0/libpod'

/**
 * Processes of the user that all containers have together; `pids` bounds each. Podman's own number, some millions, is more
 * than a service without CAP_SYS_RESOURCE may set.
 */
const processes = 16_384

const createdSchema = z.object({ Id: z.string() })

/**
 * Podman: made and looked at through its native endpoints, the rest through those that are like Docker's. Its compatible
 * `create` makes missing sources, leaves /run and /var/tmp writable and keeps the image's variables.
 */
export function podmanEngine(
  connection: Connection,
  {
    seccompProfile,
    ...about
  }: Pick<Engine, 'version' | 'address' | 'key' | 'isLocal' | 'takesCgroupParent'> & {
    /** File of the profile for each container, read by Podman. */
    seccompProfile: string
  },
): Engine {
  const client = new EngineClient(
    connection,
    id => `${native}/containers/${id}/json`,
    inspected => podmanControls(inspected, seccompProfile),
  )
  return {
    kind: 'podman',
    ...about,
    image: reference => imageOf(client, reference),
    async create(spec) {
      const body = podmanSpec(spec, seccompProfile)
      const made = await client.call('create', 'POST', `${native}/containers/create`, {
        body,
        ok: [201],
        limit: 60_000,
      })
      return createdSchema.parse(made).Id
    },
    asked: podmanAsked,
    attach: (id, to) => client.attach(id, to),
    start: id => client.start(id),
    // Its own looks for `running` now and then: for what ended in between it waits for ever, within Podman too.
    wait: (_id, signal) => client.untilGone(signal),
    inspect: id => client.inspect(id),
    kill: id => client.kill(id),
    remove: id => client.remove(id),
    list: () => client.list(),
  }
}

const tmpOptions = ['rw', 'noexec', 'nosuid', 'nodev', `size=${tmpBytes}`, 'mode=1777', 'notmpcopyup', 'U']
const coverOptions = ['ro', 'noexec', 'nosuid', 'nodev', 'size=4096', 'notmpcopyup']

/** What a container is made from, in Podman's own words. */
export function podmanSpec(spec: ContainerSpec, seccompProfile: string) {
  return {
    image: spec.image.id,
    entrypoint: [spec.command],
    command: [...spec.args],
    user: `${user}:${user}`,
    work_dir: workspace,
    hostname,
    env: environmentOf(spec),
    unsetenvall: true,
    httpproxy: false,
    stdin: spec.stdin,
    terminal: false,
    labels: { ...spec.labels },
    read_only_filesystem: true,
    cap_drop: ['ALL'],
    no_new_privileges: true,
    seccomp_profile_path: seccompProfile,
    netns: { nsmode: 'none' },
    ipcns: { nsmode: 'none' },
    cgroupns: { nsmode: 'private' },
    pidns: { nsmode: 'private' },
    utsns: { nsmode: 'private' },
    image_volume_mode: 'ignore',
    // No healthcheck of the image runs beside the command.
    healthconfig: { Test: ['NONE'] },
    log_configuration: { driver: 'none' },
    resource_limits: {
      memory: { limit: spec.memoryLimitBytes, swap: spec.memoryLimitBytes },
      cpu: { period: cpuPeriodMicroseconds, quota: quotaOf(spec) },
      pids: { limit: spec.pidsLimit },
    },
    r_limits: [
      { type: 'nofile', soft: openFiles, hard: openFiles },
      { type: 'nproc', soft: processes, hard: processes },
    ],
    mounts: [
      { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: tmpOptions },
      ...podmanCovers(spec).map(destination => ({
        destination,
        type: 'tmpfs',
        source: 'tmpfs',
        options: coverOptions,
      })),
      // `bind`, not `rbind`: nothing that is mounted below comes along.
      {
        destination: workspace,
        type: 'bind',
        source: spec.source,
        options: ['bind', 'ro', 'rprivate', 'nosuid', 'nodev'],
      },
    ],
    ...(spec.cgroupParent !== null && { cgroup_parent: spec.cgroupParent }),
  }
}

/** The image's volumes are ignored: what stands there is the image's own directory, read-only as the rest. */
function podmanCovers({ image }: ContainerSpec): string[] {
  return coveredPlaces({ ...image, volumes: [] })
}

const list = z.array(z.string()).nullish()
const inspectedSchema = z.object({
  Image: z.string(),
  Config: z.object({
    // Of one word one text, or a list, as the version has it.
    Entrypoint: z.union([z.string(), z.tuple([z.string()])]),
    Cmd: list,
    User: z.string(),
    WorkingDir: z.string(),
    Hostname: z.string(),
    Env: z.array(z.string()),
    Tty: z.boolean(),
    OpenStdin: z.boolean(),
    Healthcheck: z.object({ Test: z.array(z.string()) }).nullish(),
  }),
  HostConfig: z.object({
    NetworkMode: z.string(),
    CgroupMode: z.string(),
    PidMode: z.string(),
    UTSMode: z.string(),
    UsernsMode: z.string(),
    Privileged: z.boolean(),
    ReadonlyRootfs: z.boolean(),
    CapAdd: list,
    CapDrop: list,
    SecurityOpt: list,
    Devices: z.array(z.unknown()).nullish(),
    GroupAdd: list,
    PortBindings: z.record(z.string(), z.unknown()).nullish(),
    PublishAllPorts: z.boolean(),
    Memory: z.number(),
    MemorySwap: z.number(),
    OomKillDisable: z.boolean().nullish(),
    CpuPeriod: z.number(),
    CpuQuota: z.number(),
    PidsLimit: z.number(),
    Ulimits: z.array(z.object({ Name: z.string(), Soft: z.number(), Hard: z.number() })),
    LogConfig: z.object({ Type: z.string() }),
    Tmpfs: z.record(z.string(), z.string()),
  }),
  Mounts: z.array(
    z.object({
      Type: z.string(),
      Source: z.string(),
      Destination: z.string(),
      RW: z.boolean(),
      Propagation: z.string(),
      Options: list,
    }),
  ),
})

/**
 * As Podman's native inspect shows them. What it does not show, or shows wrongly (IPC is `shareable` whatever was asked;
 * dropped capabilities are a list of its defaults), is read of the first process.
 */
function podmanControls(inspected: unknown, seccompProfile: string): Controls {
  const { Image, Config, HostConfig: host, Mounts } = inspectedSchema.parse(inspected)
  return {
    image: Image.startsWith('sha256:') ? Image : `sha256:${Image}`,
    argv: JSON.stringify([Config.Entrypoint, ...(Config.Cmd ?? [])].flat()),
    user: Config.User,
    workingDirectory: Config.WorkingDir,
    hostname: Config.Hostname,
    environment: namesIn(Config.Env),
    stdin: String(Config.OpenStdin),
    terminal: String(Config.Tty),
    network: host.NetworkMode,
    healthcheck: JSON.stringify(Config.Healthcheck?.Test ?? []),
    cgroupNamespace: host.CgroupMode,
    hostNamespaces: JSON.stringify([host.PidMode, host.UTSMode, host.UsernsMode]),
    privileged: String(host.Privileged),
    readOnlyRoot: String(host.ReadonlyRootfs),
    capabilitiesAdded: JSON.stringify(host.CapAdd ?? []),
    capabilitiesDropped: (host.CapDrop ?? []).includes('CAP_CHOWN') ? 'all' : 'not all',
    // A profile that was given is shown by some versions only.
    securityOptions: JSON.stringify((host.SecurityOpt ?? []).filter(one => one !== `seccomp=${seccompProfile}`)),
    devices: String((host.Devices ?? []).length),
    groups: JSON.stringify(host.GroupAdd ?? []),
    ports: JSON.stringify([Object.keys(host.PortBindings ?? {}), host.PublishAllPorts]),
    memoryBytes: String(host.Memory),
    memoryAndSwapBytes: String(host.MemorySwap),
    oomKillDisabled: String(host.OomKillDisable ?? false),
    cpuPeriodMicroseconds: String(host.CpuPeriod),
    cpuQuotaMicroseconds: String(host.CpuQuota),
    pids: String(host.PidsLimit),
    openFiles: JSON.stringify(
      host.Ulimits.filter(({ Name }) => Name === 'RLIMIT_NOFILE').map(({ Soft, Hard }) => [Soft, Hard]),
    ),
    logDriver: host.LogConfig.Type,
    tmpfs: JSON.stringify(Object.entries(host.Tmpfs).map(readTmpfs).sort()),
    mounts: JSON.stringify(
      Mounts.map(one => [one.Type, one.Source, one.Destination, one.RW ? 'rw' : 'ro', one.Propagation]),
    ),
    mountOptions: JSON.stringify(Mounts.map(one => [...(one.Options ?? [])].sort())),
  }
}

function podmanAsked(spec: ContainerSpec): Controls {
  const covers = podmanCovers(spec).map(place => readTmpfs([place, coverOptions.join(',')]))
  return {
    image: spec.image.id,
    argv: JSON.stringify([spec.command, ...spec.args]),
    user: `${user}:${user}`,
    workingDirectory: workspace,
    hostname,
    environment: namesIn(Object.keys(environmentOf(spec)).map(name => `${name}=`)),
    stdin: String(spec.stdin),
    terminal: 'false',
    network: 'none',
    healthcheck: '["NONE"]',
    cgroupNamespace: 'private',
    hostNamespaces: '["private","private",""]',
    privileged: 'false',
    readOnlyRoot: 'true',
    capabilitiesAdded: '[]',
    capabilitiesDropped: 'all',
    securityOptions: '["no-new-privileges"]',
    devices: '0',
    groups: '[]',
    ports: '[[],false]',
    memoryBytes: String(spec.memoryLimitBytes),
    memoryAndSwapBytes: String(spec.memoryLimitBytes),
    oomKillDisabled: 'false',
    cpuPeriodMicroseconds: String(cpuPeriodMicroseconds),
    cpuQuotaMicroseconds: String(quotaOf(spec)),
    pids: String(spec.pidsLimit),
    openFiles: JSON.stringify([[openFiles, openFiles]]),
    logDriver: 'none',
    tmpfs: JSON.stringify([readTmpfs(['/tmp', tmpOptions.join(',')]), ...covers].sort()),
    mounts: JSON.stringify([['bind', spec.source, workspace, 'ro', 'rprivate']]),
    mountOptions: JSON.stringify([['bind', 'nodev', 'nosuid']]),
  }
}

/** The options that bound it; Podman adds others, and writes `U` as the user's numbers. */
function readTmpfs([place, options]: [place: string, options: string]): [string, string] {
  const bounding = ['rw', 'ro', 'noexec', 'nosuid', 'nodev', 'mode=1777']
  const kept = options.split(',').filter(one => bounding.includes(one) || one.startsWith('size='))
  return [place, kept.sort().join(',')]
}
