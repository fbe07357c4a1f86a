import { z } from 'zod'
import type { ContainerSpec, Controls } from './engine.ts'
import { cpuPeriodMicroseconds, environmentOf, hostname, openFiles, quotaOf, user, workspace } from './fixed.ts'

import { namesIn } from './names-in.ts'
import { coverOptions, podmanCovers, tmpOptions } from './podman-spec.ts'

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
    SystemdMode: z.boolean().optional(),
    Annotations: z.record(z.string(), z.string()).nullish(),
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
export function podmanControls(inspected: unknown, seccompProfile: string): Controls {
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
    systemd: String(Config.SystemdMode ?? false),
    annotations: JSON.stringify(
      Object.keys(Config.Annotations ?? {})
        .filter(isForeign)
        .sort(),
    ),
    logDriver: host.LogConfig.Type,
    tmpfs: JSON.stringify(Object.entries(host.Tmpfs).map(readTmpfs).sort()),
    mounts: JSON.stringify(
      Mounts.map(one => [one.Type, one.Source, one.Destination, one.RW ? 'rw' : 'ro', one.Propagation]),
    ),
    mountOptions: JSON.stringify(Mounts.map(one => [...(one.Options ?? [])].sort())),
  }
}

export function podmanAsked(spec: ContainerSpec, coversCgroups: boolean): Controls {
  const covers = podmanCovers(spec, coversCgroups).map(place => readTmpfs([place, coverOptions.join(',')]))
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
    systemd: 'false',
    annotations: '[]',
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

/**
 * Podman's own, which say again what it was asked. It hands those of an image on to the runtime, for which some are orders
 * (crun: `run.oci.seccomp_bpf_data`): of them only what describes an image is let through.
 */
const ownAnnotations: ReadonlySet<string> = new Set([
  'io.container.manager',
  'io.kubernetes.cri-o.Created',
  'io.kubernetes.cri-o.TTY',
  'io.podman.annotations.autoremove',
  'io.podman.annotations.init',
  'io.podman.annotations.privileged',
  'io.podman.annotations.publish-all',
  'org.opencontainers.image.stopSignal',
  'org.systemd.property.KillSignal',
  'org.systemd.property.TimeoutStopUSec',
])

const describing = ['org.opencontainers.image.', 'com.docker.official-images.'] as const

function isForeign(name: string): boolean {
  return !ownAnnotations.has(name) && !describing.some(one => name.startsWith(one))
}
