import type { ContainerSpec } from './engine.ts'
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

/**
 * Processes of the user that all containers have together; `pids` bounds each. Podman's own number, some millions, is more
 * than a service without CAP_SYS_RESOURCE may set.
 */
const processes = 16_384

export const tmpOptions = ['rw', 'noexec', 'nosuid', 'nodev', `size=${tmpBytes}`, 'mode=1777', 'notmpcopyup', 'U']
export const coverOptions = ['ro', 'noexec', 'nosuid', 'nodev', 'size=4096', 'notmpcopyup']

/** What holds for each container of one Podman. */
export interface PodmanSettings {
  /** File of the profile for each container, read by Podman. */
  seccompProfile: string
  /** Whether its runtime leaves /sys/fs/cgroup writable; then a container sees no cgroups at all. */
  coversCgroups: boolean
}

/** What a container is made from, in Podman's own words. */
export function podmanSpec(spec: ContainerSpec, { seccompProfile, coversCgroups }: PodmanSettings) {
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
    // Else a command by the name of systemd or /sbin/init gets writable places and a writable cgroup.
    systemd: 'false',
    labels: { ...spec.labels },
    read_only_filesystem: true,
    // Nothing of its own layer is to outlive it: no write of it waits for the disk, as with `podman run --rm`.
    volatile: true,
    cap_drop: ['ALL'],
    no_new_privileges: true,
    seccomp_profile_path: seccompProfile,
    netns: { nsmode: 'none' },
    ipcns: { nsmode: 'none' },
    cgroupns: { nsmode: 'private' },
    pidns: { nsmode: 'private' },
    utsns: { nsmode: 'private' },
    image_volume_mode: 'ignore',
    // The monitor stays where the service is: what is counted in the container's cgroup is the container alone.
    cgroups_mode: 'no-conmon',
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
      ...podmanCovers(spec, coversCgroups).map(destination => ({
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
export function podmanCovers({ image }: ContainerSpec, coversCgroups: boolean): string[] {
  return [...coveredPlaces({ ...image, volumes: [] }), ...(coversCgroups ? ['/sys/fs/cgroup'] : [])]
}
