import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect } from 'vitest'
import {
  type ContainerProcess,
  findEngine,
  type RunningContainer,
  runContainer,
} from '../../../runner/container/container.ts'
import { closeDirectory, openDirectory } from '../../../runner/facts/directory.ts'
import { askEngine } from '../../engines/api.ts'
import type { TestEngine } from '../../engines/engines.ts'
import { mountsUnder } from '../../engines/leftovers.ts'
import { processesOfContainers } from '../../engines/processes.ts'
import type { OneEngine } from '../../engines/provided.ts'
import { containerDefaults } from './defaults.ts'

export const mebibyte = 1_048_576

/** A test's directory, which containers see as /workspace, and the one way in which its containers are run. */
export interface Room {
  readonly directory: string
  file(name: string): string
  /** `probe` of the image with these words. */
  probe(words: readonly string[], options?: Options): Promise<Outcome>
  start(words: readonly string[], options?: Options): Promise<RunningContainer>
  /** The engine and the image that a run takes. */
  find(imageReference?: string): ReturnType<typeof findEngine>
}

export type Options = Partial<Omit<ContainerProcess, 'image' | 'args' | 'cwd'>> & {
  /** Reference of the image; default: the base tree. */
  imageReference?: string
  /** Directory that is bound; default: the room's. */
  cwd?: string
}

export type Outcome = Awaited<RunningContainer['wait']> & { stdout: string; stderr: string }

/**
 * For the tests of one engine: each gets a room of its own, and after each nothing may be left of what it ran, on the
 * engine or on the host.
 */
export function useRoom({ engine, busybox }: OneEngine): Room {
  let directory = ''
  let before: Traces
  beforeEach(async () => {
    directory = mkdtempSync(path.join(tmpdir(), 'agentctl-probe-'))
    // What a container cannot write there is then not for want of a mode.
    chmodSync(directory, 0o1777)
    before = await tracesOf(engine)
  })
  afterEach(async () => {
    rmSync(directory, { recursive: true, force: true })
    await expectNothingLeft(engine, before)
  })

  // Podman answers on its socket: no service of agentctl's own is among what is looked for afterwards.
  const environment = { ...engine.env, ...(engine.kind === 'podman' && { CONTAINER_HOST: `unix://${engine.socket}` }) }
  const find = (imageReference = busybox.reference) => findEngine(engine.kind, imageReference, environment)

  async function start(words: readonly string[], options: Options = {}): Promise<RunningContainer> {
    const { imageReference, cwd = directory, ...rest } = options
    const found = await find(imageReference)
    const bound = openDirectory(cwd)
    const running = runContainer({
      ...found,
      ...containerDefaults,
      args: words,
      cwd: bound,
      signal: new AbortController().signal,
      ...rest,
    })
    void running.wait.then(() => closeDirectory(bound))
    return running
  }

  return {
    get directory() {
      return directory
    },
    file: name => path.join(directory, name),
    start,
    find,
    async probe(words, options) {
      const outcome = await (await start(words, options)).wait
      const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8')
      return { ...outcome, stdout: text(outcome.captured.stdout), stderr: text(outcome.captured.stderr) }
    },
  }
}

/** Makes many attempts in one container; answers what the kernel said to each, by the words of the attempt. */
export async function attempts(
  room: Room,
  list: readonly (readonly string[])[],
  options?: Options,
): Promise<{ [attempt: string]: string }> {
  const words = list.flatMap((one, index) => (index === 0 ? one : [',', ...one]))
  const { end, stdout, stderr } = await room.probe(['each', ...words], options)
  expect({ end, stderr }).toEqual({ end: { kind: 'exited', code: 0 }, stderr: '' })
  const lines = stdout.trimEnd().split('\n')
  expect(lines).toHaveLength(list.length)
  return Object.fromEntries(lines.map(line => line.split(': ') as [string, string]))
}

/** What containers may leave behind; plain data, to be compared. */
export interface Traces {
  containers: string[]
  volumes: string[]
  /** Directories of containers in the engine's storage. */
  directories: string[]
  mounts: string[]
  /** That were made for single containers. */
  cgroups: string[]
  processes: number
}

export async function tracesOf(engine: TestEngine): Promise<Traces> {
  const root = path.dirname(engine.dataRoot)
  const listed = JSON.parse(await askEngine(engine, 'GET', '/containers/json?all=1')) as { Id: string }[]
  const { Volumes } = JSON.parse(await askEngine(engine, 'GET', '/volumes')) as { Volumes: { Name: string }[] | null }
  const places = ['containers', 'overlay-containers'].map(name => path.join(engine.dataRoot, name)).filter(existsSync)
  return {
    containers: listed.map(({ Id }) => Id),
    volumes: (Volumes ?? []).map(({ Name }) => Name),
    directories: places.flatMap(place => readdirSync(place)).filter(name => /^[0-9a-f]{64}$/.test(name)),
    mounts: mountsUnder(root).filter(place => /\/(merged|shm|rootfs)$/.test(place)),
    cgroups: cgroupsOfContainers(),
    processes: processesOfContainers(root).length,
  }
}

function cgroupsOfContainers(): string[] {
  const top = '/sys/fs/cgroup'
  const places = [top, ...readdirSync(top).map(name => path.join(top, name))].filter(place =>
    statSync(place).isDirectory(),
  )
  return places.flatMap(place =>
    readdirSync(place).filter(name => name.startsWith(`agentctl-container-${process.pid}-`)),
  )
}

/** The engine's helpers of an ended container go a moment after it: waited for, within bounds. */
export async function expectNothingLeft(engine: TestEngine, before: Traces): Promise<void> {
  const deadline = performance.now() + 30_000
  let now = await tracesOf(engine)
  while (JSON.stringify(now) !== JSON.stringify(before) && performance.now() < deadline) {
    await sleep(20)
    now = await tracesOf(engine)
  }
  expect(now).toEqual(before)
}
