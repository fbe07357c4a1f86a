import { z } from 'zod'
import { coverOptions, tmpOptions } from './docker-body.ts'
import type { ContainerSpec, Controls } from './engine.ts'
import {
  coveredPlaces,
  cpuPeriodMicroseconds,
  environmentOf,
  hostname,
  openFiles,
  quotaOf,
  unsetVariables,
  user,
  workspace,
} from './fixed.ts'
import { namesIn } from './names-in.ts'

const list = z.array(z.string()).nullish()
const inspectedSchema = z.object({
  Image: z.string(),
  Path: z.string(),
  Args: z.array(z.string()),
  Config: z.object({
    User: z.string(),
    WorkingDir: z.string(),
    Hostname: z.string(),
    Env: z.array(z.string()),
    Tty: z.boolean(),
    OpenStdin: z.boolean(),
    NetworkDisabled: z.boolean().optional(),
    Healthcheck: z.object({ Test: z.array(z.string()) }).nullish(),
    Labels: z.record(z.string(), z.string()),
  }),
  HostConfig: z.object({
    NetworkMode: z.string(),
    IpcMode: z.string(),
    CgroupnsMode: z.string(),
    PidMode: z.string(),
    UTSMode: z.string(),
    UsernsMode: z.string(),
    Privileged: z.boolean(),
    ReadonlyRootfs: z.boolean(),
    CapAdd: list,
    CapDrop: list,
    SecurityOpt: list,
    Devices: z.array(z.unknown()).nullish(),
    DeviceRequests: z.array(z.unknown()).nullish(),
    DeviceCgroupRules: list,
    GroupAdd: list,
    Binds: list,
    VolumesFrom: list,
    PortBindings: z.record(z.string(), z.unknown()).nullish(),
    PublishAllPorts: z.boolean(),
    Memory: z.number(),
    MemorySwap: z.number(),
    OomKillDisable: z.boolean().nullish(),
    CpuPeriod: z.number(),
    CpuQuota: z.number(),
    PidsLimit: z.number().nullish(),
    Ulimits: z.array(z.object({ Name: z.string(), Soft: z.number(), Hard: z.number() })),
    LogConfig: z.object({ Type: z.string() }),
    Tmpfs: z.record(z.string(), z.string()),
    Mounts: z.array(z.unknown()).nullish(),
  }),
  Mounts: z.array(
    z.object({
      Type: z.string(),
      Source: z.string(),
      Destination: z.string(),
      RW: z.boolean(),
      Propagation: z.string(),
    }),
  ),
})

/** Whole values as canonical texts, so that anything beside what was asked for is a difference too. */
export function dockerControls(inspected: unknown): Controls {
  const { Image, Path, Args, Config, HostConfig: host, Mounts } = inspectedSchema.parse(inspected)
  return {
    image: Image,
    argv: JSON.stringify([Path, ...Args]),
    user: Config.User,
    workingDirectory: Config.WorkingDir,
    hostname: Config.Hostname,
    environment: namesIn(Config.Env),
    stdin: String(Config.OpenStdin),
    terminal: String(Config.Tty),
    network: host.NetworkMode,
    healthcheck: JSON.stringify(Config.Healthcheck?.Test ?? []),
    ipc: host.IpcMode,
    cgroupNamespace: host.CgroupnsMode,
    hostNamespaces: JSON.stringify([host.PidMode, host.UTSMode, host.UsernsMode]),
    privileged: String(host.Privileged),
    readOnlyRoot: String(host.ReadonlyRootfs),
    capabilitiesAdded: JSON.stringify(host.CapAdd ?? []),
    capabilitiesDropped: JSON.stringify(host.CapDrop ?? []),
    securityOptions: JSON.stringify(host.SecurityOpt ?? []),
    devices: String([host.Devices, host.DeviceRequests, host.DeviceCgroupRules].flatMap(one => one ?? []).length),
    groups: JSON.stringify(host.GroupAdd ?? []),
    ports: JSON.stringify([Object.keys(host.PortBindings ?? {}), host.PublishAllPorts]),
    memoryBytes: String(host.Memory),
    memoryAndSwapBytes: String(host.MemorySwap),
    oomKillDisabled: String(host.OomKillDisable ?? false),
    cpuPeriodMicroseconds: String(host.CpuPeriod),
    cpuQuotaMicroseconds: String(host.CpuQuota),
    pids: String(host.PidsLimit ?? 0),
    openFiles: JSON.stringify(host.Ulimits.map(({ Name, Soft, Hard }) => [Name, Soft, Hard])),
    logDriver: host.LogConfig.Type,
    tmpfs: JSON.stringify(Object.entries(host.Tmpfs).sort()),
    volumes: JSON.stringify([...(host.Binds ?? []), ...(host.VolumesFrom ?? [])]),
    mounts: JSON.stringify(
      Mounts.map(one => [one.Type, one.Source, one.Destination, one.RW ? 'rw' : 'ro', one.Propagation]),
    ),
    nestedMounts: JSON.stringify((host.Mounts ?? []).map(isNonRecursive)),
  }
}

export function dockerAsked(spec: ContainerSpec): Controls {
  const environment = environmentOf(spec)
  const covers = coveredPlaces(spec.image).map(place => [place, coverOptions])
  return {
    image: spec.image.id,
    argv: JSON.stringify([spec.command, ...spec.args]),
    user: `${user}:${user}`,
    workingDirectory: workspace,
    hostname,
    environment: namesIn([
      ...Object.keys(environment).map(name => `${name}=`),
      ...unsetVariables(spec.image, environment),
    ]),
    stdin: String(spec.stdin),
    terminal: 'false',
    network: 'none',
    healthcheck: '["NONE"]',
    ipc: 'none',
    cgroupNamespace: 'private',
    hostNamespaces: '["","",""]',
    privileged: 'false',
    readOnlyRoot: 'true',
    capabilitiesAdded: '[]',
    capabilitiesDropped: '["ALL"]',
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
    openFiles: JSON.stringify([['nofile', openFiles, openFiles]]),
    logDriver: 'none',
    tmpfs: JSON.stringify([['/tmp', tmpOptions], ...covers].sort()),
    volumes: '[]',
    mounts: JSON.stringify([['bind', spec.source, workspace, 'ro', 'rprivate']]),
    nestedMounts: '[true]',
  }
}

function isNonRecursive(mount: unknown): boolean {
  const options = z.object({ BindOptions: z.object({ NonRecursive: z.boolean().optional() }) }).safeParse(mount)
  return options.success && options.data.BindOptions.NonRecursive === true
}
