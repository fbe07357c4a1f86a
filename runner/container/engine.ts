import type { Duplex } from 'node:stream'

/** The two engines; `auto` of a document takes the first of them that has the image (03, Container). */
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
  /** A cgroup that agentctl made for it, from the top of the hierarchy; null = the engine's own place. */
  cgroupParent: string | null
}

/** How a container stands. */
export interface ContainerState {
  status: string
  running: boolean
  /** Of its first process on the engine's host; 0 while it does not run. */
  pid: number
  /** Null until it has ended. */
  exitCode: number | null
  oomKilled: boolean
  /** Whether it was ever started. */
  started: boolean
  /** The engine's own words on why it could not start; empty otherwise. */
  error: string
  /** The whole answer of the engine's inspect. */
  raw: unknown
}

/** A container with its labels. */
export interface ListedContainer {
  id: string
  labels: { readonly [name: string]: string }
}

/** Both output streams of a container in the engine's frames; what is written to it is the container's stdin. */
export type AttachedStream = Duplex

/**
 * One container engine through its API: no command of an engine is ever run for it. Each call fails with an EngineFault,
 * and after `limitMilliseconds` at the latest where one is given.
 */
export interface Engine {
  readonly kind: EngineKind
  readonly version: string
  /** Where it answers, `unix:///run/docker.sock`. */
  readonly address: string
  /** Whether containers share this host's /proc, so that what is in force can be read there. */
  readonly isLocal: boolean
  /** Null where the image is not there. */
  image(reference: string): Promise<CheckedImage | null>
  /** Answers the id of the container. */
  create(spec: ContainerSpec): Promise<string>
  /** Before the start, so that nothing is missed. */
  attach(id: string, stdin: boolean): Promise<AttachedStream>
  start(id: string): Promise<void>
  /** Resolves once it has ended the next time: asked before the start. */
  wait(id: string, signal: AbortSignal): Promise<void>
  /** Null where there is no such container. */
  inspect(id: string): Promise<ContainerState | null>
  /** SIGKILL; no error where it does not run. */
  kill(id: string): Promise<void>
  /** By force, with its volumes; no error where it is gone. */
  remove(id: string): Promise<void>
  /** Containers that agentctl made, ended ones too. */
  list(): Promise<ListedContainer[]>
}

/** What an engine answered, or that it did not: `status` is null where no answer came. */
export class EngineFault extends Error {
  override readonly name = 'EngineFault'
  readonly status: number | null
  constructor(status: number | null, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}
