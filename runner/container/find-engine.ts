import { existsSync } from 'node:fs'
import path from 'node:path'
import { describeError } from '../../policy/redact.ts'
import { ExecutorError } from '../executor.ts'
import { fixedSearchPath } from '../facts/executable.ts'
import { dockerAddress, type EngineAddress, type Environment, podmanAddress } from './address.ts'
import { bounded, faultOf } from './calls.ts'
import { connectTo } from './client.ts'
import { dockerEngine } from './docker.ts'
import { type CheckedImage, type Engine, type EngineFault, type EngineKind, engineKinds } from './engine.ts'
import {
  checkEngine,
  type EngineInfo,
  hasOpenCgroups,
  infoSchema,
  isRunc,
  isSameHost,
  refuseOtherKind,
} from './engine-checks.ts'
import { podmanEngine } from './podman.ts'
import { privatePodman } from './private-podman.ts'
import { podmanProfile } from './seccomp.ts'

/** How long an engine may take to say what it is; milliseconds. */
const infoMilliseconds = 15_000

/** Engines that answered in this process, by kind and environment: one connection is kept. */
const found = new Map<string, { opening: Promise<Engine>; engine: Engine | null }>()

/**
 * Finds the engine that has the image: the named one, or of `auto` the first that answers and has it. Nothing is pulled, and
 * nothing stands in for an engine that was named. Throws ExecutorError with a code for each reason.
 */
export async function findEngine(
  choice: 'auto' | EngineKind,
  reference: string,
  environment: Environment,
): Promise<{ engine: Engine; image: CheckedImage }> {
  const refusals: ExecutorError[] = []
  for (const kind of choice === 'auto' ? engineKinds : [choice]) {
    try {
      return await engineWith(kind, reference, environment)
    } catch (error) {
      if (!(error instanceof ExecutorError)) throw error
      // One that answers and has the image is the first; what it cannot enforce is no reason to try another.
      if (choice !== 'auto' || !passedOver.has(error.code)) throw error
      refusals.push(error)
    }
  }
  const isAbsent = refusals.some(({ code }) => code === 'image_absent')
  const told = refusals.map(({ message }) => message).join('; ')
  throw new ExecutorError(isAbsent ? 'image_absent' : 'no_engine', `no engine can run the container: ${told}`)
}

/** Reasons for which `auto` tries the next engine. */
const passedOver: ReadonlySet<string> = new Set([
  'engine_not_installed',
  'engine_not_running',
  'engine_not_permitted',
  'engine_other_kind',
  'image_absent',
])

async function engineWith(kind: EngineKind, reference: string, environment: Environment, again = true) {
  const engine = await connectEngine(kind, environment)
  let image: CheckedImage | null
  try {
    image = await engine.image(reference)
  } catch (error) {
    const fault = faultOf('image', error)
    if (fault.code === 'EIMAGE')
      throw new ExecutorError('image_unusable', `${kind} at ${engine.address}: ${fault.message}`)
    // Stopped since, or a private service that nobody asked for a while.
    forget(engine)
    if (again) return await engineWith(kind, reference, environment, false)
    throw unanswered(kind, { shown: engine.address }, fault)
  }
  if (image !== null) return { engine, image }
  throw new ExecutorError(
    'image_absent',
    `${kind} at ${engine.address} does not have the image ${reference}; put it on this host, nothing is ever pulled`,
  )
}

/** The engine itself, image or not, made known for this process. Throws ExecutorError. */
export async function connectEngine(kind: EngineKind, environment: Environment): Promise<Engine> {
  const { address, key } = whereIs(kind, environment)
  const known = found.get(key)
  if (known !== undefined) return await known.opening
  const opened = { opening: open(kind, address, key, environment), engine: null as Engine | null }
  found.set(key, opened)
  try {
    opened.engine = await opened.opening
    return opened.engine
  } catch (error) {
    found.delete(key)
    throw error
  }
}

/** Where an engine would be asked, and the key by which it is known. Throws ExecutorError. */
function whereIs(kind: EngineKind, environment: Environment): { address: EngineAddress; key: string } {
  const address = kind === 'docker' ? dockerAddress(environment) : podmanAddress(environment)
  const configured = ['CONTAINERS_CONF', 'CONTAINERS_STORAGE_CONF'].map(name => environment[name] ?? '')
  // A service of Podman works on the storage that its configuration names, wherever it answers.
  const storage = kind === 'podman' && !address.isExplicit ? configured : []
  return { address, key: [kind, address.shown, ...storage].join(' ').trim().replaceAll('\n', ' ') }
}

/** The key of the engine that this environment names; null where it names none that can be asked. */
export function engineKey(kind: EngineKind, environment: Environment): string | null {
  try {
    return whereIs(kind, environment).key
  } catch {
    return null
  }
}

function forget(engine: Engine): void {
  for (const [key, known] of found) if (known.engine === engine) found.delete(key)
}

async function open(kind: EngineKind, address: EngineAddress, key: string, environment: Environment): Promise<Engine> {
  try {
    return await ask(kind, address, key)
  } catch (error) {
    if (error instanceof ExecutorError) throw error
    const fault = faultOf(kind, error)
    const isSilent = fault.code === 'ENOENT' || fault.code === 'ECONNREFUSED'
    if (kind === 'docker' || address.isExplicit || !isSilent || program('podman') === null)
      throw unanswered(kind, address, fault)
  }
  const service = await privatePodman(program('podman') ?? 'podman', environment)
  try {
    return await ask(kind, service, key)
  } catch (error) {
    if (error instanceof ExecutorError) throw error
    throw unanswered(kind, service, faultOf(kind, error))
  }
}

async function ask(kind: EngineKind, address: Pick<EngineAddress, 'at' | 'shown'>, key: string): Promise<Engine> {
  const connection = await connectTo(address.at)
  const version = await bounded('version', infoMilliseconds, () => connection.docker.version() as Promise<unknown>)
  refuseOtherKind(kind, address.shown, version)
  const told = await bounded('info', infoMilliseconds, () => connection.docker.info() as Promise<unknown>)
  const parsed = infoSchema.safeParse(told)
  if (!parsed.success) {
    const lacks = parsed.error.issues[0]?.path.join('.') ?? ''
    throw new ExecutorError(
      'engine_unknown',
      `what answers at ${address.shown} is no ${kind}: it says nothing of ${lacks || 'itself'}; correct the address`,
    )
  }
  const info = parsed.data
  checkEngine(kind, address.shown, info)
  const isLocal = isSameHost(info, 'socketPath' in address.at)
  refuseElsewhere(kind, address.shown, info, isLocal)
  const hidesNestedMounts = isRunc(info)
  const about = { version: info.ServerVersion, address: address.shown, key, isLocal, hidesNestedMounts }
  if (kind === 'docker') return dockerEngine(connection, about)
  // A slice is what systemd wants, and agentctl makes none.
  return podmanEngine(connection, {
    ...about,
    takesCgroupParent: isLocal && info.CgroupDriver === 'cgroupfs',
    seccompProfile: podmanProfile(),
    coversCgroups: hasOpenCgroups(info),
  })
}

/** On Linux an engine runs on this very system or elsewhere; the virtual machines of others share directories by path. */
function refuseElsewhere(kind: EngineKind, shown: string, info: EngineInfo, isLocal: boolean): void {
  if (isLocal || process.platform !== 'linux') return
  throw new ExecutorError(
    'engine_elsewhere',
    `${kind} at ${shown} runs on ${info.Name} (${info.KernelVersion}), not where agentctl does, and does not see the workspace; use an engine of this host, and run the job outside a job container`,
  )
}

function unanswered(kind: EngineKind, { shown }: Pick<EngineAddress, 'shown'>, fault: EngineFault): ExecutorError {
  const { code } = fault
  if (code === 'EACCES' || code === 'EPERM')
    return new ExecutorError(
      'engine_not_permitted',
      `agentctl's user may not use ${kind} at ${shown}; let it, which gives it root's power over this host`,
    )
  const isThere = program(kind) !== null || (kind === 'docker' && program('dockerd') !== null)
  if ((code === 'ENOENT' || code === 'ECONNREFUSED') && !isThere)
    return new ExecutorError(
      'engine_not_installed',
      `${kind} is not installed on this host, and nothing answers at ${shown}`,
    )
  return new ExecutorError(
    'engine_not_running',
    `${kind} does not answer at ${shown}: ${describeError(fault)}; start it, or correct its address`,
  )
}

/** A program of the host, looked for where commands are and never in the environment's PATH. */
function program(name: string): string | null {
  const places = fixedSearchPath.map(folder => path.join(folder, name))
  return places.find(place => existsSync(place)) ?? null
}
