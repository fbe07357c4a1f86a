import type { Duplex } from 'node:stream'

/** The engines, in the order in which `auto` tries them (03, Container). */
export const engineKinds = ['docker', 'podman'] as const
export type EngineKind = (typeof engineKinds)[number]

/** An image as it was found on an engine, nothing pulled. */
export interface CheckedImage {
  /** As the document writes it: `NAME@sha256:<64 hex>` or `sha256:<64 hex>`. */
  reference: string
  /** The engine's own id of it, `sha256:<64 hex>`: what is run. */
  id: string
  /** Names of the variables that the image sets, each unset in a container. */
  variables: readonly string[]
  /** The image's own PATH, null where it sets none. */
  path: string | null
  /** Directories that the image declares as volumes, each covered by something read-only. */
  volumes: readonly string[]
}

/** Everything that one container is made from; nothing else of it is configurable. */
export interface ContainerSpec {
  image: CheckedImage
  command: string
  args: readonly string[]
  /** Directory of the engine's host, bound read-only at /workspace. */
  source: string
  environment: { readonly [name: string]: string }
  /** Whether something is written to its stdin; else that is empty. */
  stdin: boolean
  memoryLimitBytes: number
  cpuLimitMillis: number
  pidsLimit: number
  labels: { readonly [name: string]: string }
  /** A cgroup for it alone, from the top of the hierarchy; null = the engine's own place. */
  cgroupParent: string | null
}

/** How a container stands. */
export interface ContainerState {
  running: boolean
  /** Whether it was ever started. */
  started: boolean
  /** When it was started the last time, as the engine writes it: tells one start from another. */
  startedAt: string
  /** Of its first process on the engine's host; 0 while it does not run. */
  pid: number
  /** Whether it was started and runs no more. */
  over: boolean
  /** Null until it is over, and where the engine does not know it even then. */
  exitCode: number | null
  oomKilled: boolean
  /** The controls as the engine shows them, by name, comparable with `asked` of the same engine. */
  controls: Controls
}

/** Each control of a container by name, as an engine tells it. */
export interface Controls {
  [name: string]: string
}

/** A container with its labels. */
export interface ListedContainer {
  id: string
  labels: { readonly [name: string]: string }
}

/**
 * One container engine through its API: no command of an engine is ever run for an effect. Each call fails with an
 * EngineFault, within a bound of its own.
 */
export interface Engine {
  readonly kind: EngineKind
  readonly version: string
  /** Where it answers, `unix:///run/docker.sock`. */
  readonly address: string
  /** Tells it from every other engine of this host, also in another process: kind and address, or a private one's storage. */
  readonly key: string
  /** Whether its containers are processes of this host, so that what is in force can be read in /proc. */
  readonly isLocal: boolean
  /** Whether a cgroup may be named in which a container is made. */
  readonly takesCgroupParent: boolean
  /** Whether what is mounted below a directory stays out of a container that is given the directory. */
  readonly hidesNestedMounts: boolean
  /** Null where the image is not there. */
  image(reference: string): Promise<CheckedImage | null>
  /** Refuses an image that leads a mount of the engine elsewhere, asked of a container that was only made. Throws ExecutorError. */
  refuseLinks(id: string, image: CheckedImage): Promise<void>
  /** Answers the id of the container. */
  create(spec: ContainerSpec): Promise<string>
  /** What `inspect` must show of a container that was made from this. */
  asked(spec: ContainerSpec): Controls
  /**
   * Before the start: both output streams in the engine's frames, or the container's stdin. Each on a connection of its own,
   * so that a stdin which nobody reads takes no output with it.
   */
  attach(id: string, to: 'output' | 'stdin'): Promise<Duplex>
  start(id: string): Promise<void>
  /** May resolve once it has ended, asked before the start; fails once the engine is gone meanwhile. */
  wait(id: string, signal: AbortSignal): Promise<void>
  /** Null where there is no such container. */
  inspect(id: string): Promise<ContainerState | null>
  /** SIGKILL; no error where it does not run. */
  kill(id: string): Promise<void>
  /** By force, with its volumes; no error where it is gone. */
  remove(id: string): Promise<void>
  /** Containers that carry agentctl's labels, ended ones too. */
  list(): Promise<ListedContainer[]>
}

/** What an engine answered instead; `status` is the HTTP status, null where no whole answer came. */
export class EngineFault extends Error {
  override readonly name = 'EngineFault'
  readonly status: number | null
  /** Of the system, where the connection failed: ENOENT, EACCES, ECONNREFUSED; empty otherwise. */
  readonly code: string
  constructor(status: number | null, code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
    this.code = code
  }
}
