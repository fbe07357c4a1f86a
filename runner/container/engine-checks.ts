import { hostname, release } from 'node:os'
import path from 'node:path'
import { z } from 'zod'
import { ExecutorError } from '../executor.ts'
import type { EngineKind } from './engine.ts'

/** What an engine says of itself, on the endpoint that both have. */
export const infoSchema = z.object({
  OSType: z.string(),
  Name: z.string(),
  KernelVersion: z.string(),
  ServerVersion: z.string(),
  SecurityOptions: z.array(z.string()).nullish(),
  CgroupDriver: z.string().optional(),
  DefaultRuntime: z.string().optional(),
  CgroupVersion: z.string().optional(),
  Rootless: z.boolean().optional(),
  MemoryLimit: z.boolean().optional(),
  SwapLimit: z.boolean().optional(),
  CpuCfsPeriod: z.boolean().optional(),
  CpuCfsQuota: z.boolean().optional(),
  PidsLimit: z.boolean().optional(),
})
export type EngineInfo = z.infer<typeof infoSchema>

/** Limits that an engine must say it enforces, by its own name, with the field of a document that asks for it. */
const limits = {
  MemoryLimit: 'memoryLimitBytes',
  SwapLimit: 'memoryLimitBytes (swap beside it)',
  CpuCfsPeriod: 'cpuLimitMillis',
  CpuCfsQuota: 'cpuLimitMillis',
  PidsLimit: 'pidsLimit',
} as const

/** Runtimes whose containers the tests have looked into, by the engines' names of them. */
const runc: readonly string[] = ['runc', 'io.containerd.runc.v2']
const runtimes: { readonly [kind in EngineKind]: readonly string[] } = { docker: runc, podman: [...runc, 'crun'] }

const versionSchema = z.object({ Components: z.array(z.object({ Name: z.string() })).nullish() })

/** Refuses Podman where Docker was to be, and the other way about: each answers the other's calls, unlike it. Throws ExecutorError. */
export function refuseOtherKind(kind: EngineKind, address: string, version: unknown): void {
  const { Components } = versionSchema.safeParse(version).data ?? {}
  const names = (Components ?? []).map(({ Name }) => Name)
  const found = names.includes('Podman Engine') ? 'podman' : names.includes('Engine') ? 'docker' : kind
  if (found === kind) return
  const variable = kind === 'docker' ? 'DOCKER_HOST' : 'CONTAINER_HOST'
  throw new ExecutorError(
    'engine_other_kind',
    `${kind} at ${address} is ${found}; use runtime: ${found}, or have ${variable} lead to ${kind}`,
  )
}

/**
 * Refuses an engine that says it does not enforce what each container is promised. What it does not say counts as not
 * enforced. Throws ExecutorError with a code for each.
 */
export function checkEngine(kind: EngineKind, address: string, info: EngineInfo): void {
  const refuse = (code: string, message: string): never => {
    throw new ExecutorError(code, `${kind} at ${address} ${message}`)
  }
  const options = (info.SecurityOptions ?? []).map(readOption)
  const has = (name: string) => options.some(option => option['name'] === name)
  if (info.OSType !== 'linux') refuse('engine_not_linux', `runs containers of ${info.OSType}; use one that runs Linux`)
  if (info.Rootless === true || has('rootless'))
    refuse('engine_rootless', 'is rootless, where limits and owners differ; use an engine that root runs')
  if (has('userns'))
    refuse('engine_userns', 'remaps users (userns-remap), so that 65532 is another user; use one without')
  const profile = options.find(option => option['name'] === 'seccomp')?.['profile']
  // `builtin` is the name of the same profile in later versions of Docker.
  if (profile !== 'default' && profile !== 'builtin')
    refuse(
      'engine_no_seccomp',
      `does not filter system calls by its default seccomp profile (it has ${profile ?? 'none'}); start it without a profile of its own`,
    )
  if (!runtimes[kind].includes(nameOf(info)))
    refuse(
      'engine_runtime',
      `runs containers by ${JSON.stringify(info.DefaultRuntime ?? 'a runtime that it does not name')}, and what holds there is not known; make ${kind === 'docker' ? 'runc' : 'crun or runc'} its default runtime${info.DefaultRuntime?.includes('runsc') === true ? ', or use isolation: cell for gVisor' : ''}`,
    )
  for (const [name, field] of Object.entries(limits))
    if (info[name as keyof typeof limits] !== true)
      refuse('engine_limit', `cannot enforce ${field} on this host (${name}); enable the cgroup controller it needs`)
}

/** Whether the engine runs on the system that agentctl sees: then both mean the same directories, and /proc shows it. */
export function isSameHost(info: EngineInfo, isSocket: boolean): boolean {
  return process.platform === 'linux' && isSocket && info.Name === hostname() && info.KernelVersion === release()
}

/**
 * Whether /sys/fs/cgroup of a container may be written to: crun mounts it for everyone where cgroups are of version 1 (seen
 * with 1.8.1), runc does not.
 */
export function hasOpenCgroups({ CgroupVersion, DefaultRuntime }: EngineInfo): boolean {
  return CgroupVersion !== '2' && !isRunc({ DefaultRuntime })
}

/** Whether what is mounted below a directory stays out of a container that is given the directory (seen with 1.1.5). */
export function isRunc({ DefaultRuntime }: Pick<EngineInfo, 'DefaultRuntime'>): boolean {
  return runc.includes(nameOf({ DefaultRuntime }))
}

/** Podman also takes the path of one. */
function nameOf({ DefaultRuntime }: Pick<EngineInfo, 'DefaultRuntime'>): string {
  return path.posix.basename(DefaultRuntime ?? '')
}

/** `name=seccomp,profile=default`. */
function readOption(option: string): { [name: string]: string } {
  return Object.fromEntries(
    option.split(',').map(part => {
      const [name = '', ...value] = part.split('=')
      return [name, value.join('=')]
    }),
  )
}
