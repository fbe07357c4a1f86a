import type { ContainerSpec } from './engine.ts'
import {
  coveredPlaces,
  cpuPeriodMicroseconds,
  environmentOf,
  hostname,
  openFiles,
  quotaOf,
  tmpBytes,
  tmpInodes,
  unsetVariables,
  user,
  workspace,
} from './fixed.ts'

export const tmpOptions = `rw,noexec,nosuid,nodev,size=${tmpBytes},mode=1777,uid=${user},gid=${user},nr_inodes=${tmpInodes}`
export const coverOptions = 'ro,noexec,nosuid,nodev,size=4096'

/** What a container is made from, in Docker's words. */
export function dockerBody(spec: ContainerSpec) {
  const environment = environmentOf(spec)
  const covers = coveredPlaces(spec.image).map(place => [place, coverOptions] as const)
  return {
    Image: spec.image.id,
    // Direct, no shell; with an entrypoint of its own a container never takes the image's Cmd.
    Entrypoint: [spec.command],
    Cmd: [...spec.args],
    User: `${user}:${user}`,
    WorkingDir: workspace,
    Hostname: hostname,
    // A bare name unsets what the image sets.
    Env: [
      ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      ...unsetVariables(spec.image, environment),
    ],
    OpenStdin: spec.stdin,
    StdinOnce: spec.stdin,
    AttachStdin: spec.stdin,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    NetworkDisabled: true,
    Healthcheck: { Test: ['NONE'] },
    Labels: { ...spec.labels },
    HostConfig: {
      NetworkMode: 'none',
      IpcMode: 'none',
      CgroupnsMode: 'private',
      Privileged: false,
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Memory: spec.memoryLimitBytes,
      MemorySwap: spec.memoryLimitBytes,
      CpuPeriod: cpuPeriodMicroseconds,
      CpuQuota: quotaOf(spec),
      PidsLimit: spec.pidsLimit,
      Ulimits: [{ Name: 'nofile', Soft: openFiles, Hard: openFiles }],
      // The default one would keep the output on the host's disk.
      LogConfig: { Type: 'none', Config: {} },
      Tmpfs: { '/tmp': tmpOptions, ...Object.fromEntries(covers) },
      // `Mounts` refuses a missing source, which `Binds` would make.
      Mounts: [
        {
          Type: 'bind',
          Source: spec.source,
          Target: workspace,
          ReadOnly: true,
          BindOptions: { Propagation: 'rprivate', NonRecursive: true },
        },
      ],
    },
  }
}
