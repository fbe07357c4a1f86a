import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import { z } from 'zod'
import { describeError } from '../../policy/redact.ts'
import { attach } from './attach.ts'
import { bounded, faultOf } from './calls.ts'
import type { EndPoint } from './end-point.ts'
import { type ContainerState, EngineFault, type ListedContainer } from './engine.ts'
import { label } from './labels.ts'

/** How long an engine may take for what it does at once, and for what it does on disk; milliseconds. */
const quick = 15_000
const slow = 60_000

const createdSchema = z.object({ Id: z.string().regex(/^[0-9a-f]{64}$/) })
const pathSchema = z.object({ linkTarget: z.string() })
const stateSchema = z.object({
  State: z.object({
    Running: z.boolean(),
    Status: z.string(),
    Pid: z.int(),
    ExitCode: z.int(),
    OOMKilled: z.boolean(),
    StartedAt: z.string(),
  }),
})

/** The calls that both engines take alike, over dockerode's HTTP client, which keeps its connections. */
export class EngineClient {
  readonly #docker: Docker
  readonly #at: EndPoint
  readonly #controls: (inspected: unknown) => ContainerState['controls']
  readonly #inspectPath: (id: string) => string

  constructor(
    { docker, at }: Connection,
    inspectPath: (id: string) => string,
    controls: (inspected: unknown) => ContainerState['controls'],
  ) {
    this.#docker = docker
    this.#at = at
    this.#inspectPath = inspectPath
    this.#controls = controls
  }

  /** One request with a JSON answer. */
  async call(what: string, method: 'GET' | 'POST', path: string, options: CallOptions = {}): Promise<unknown> {
    const { body, ok = [200], limit = quick } = options
    return await bounded(what, limit, signal =>
      this.#dial(
        { method, path, ...(body !== undefined && { options: { _body: body } }), statusCodes: statuses(ok) },
        signal,
      ),
    )
  }

  /** By hand: dockerode's own writes all of it, values of secrets too, into the address beside the body. */
  async create(path: string, body: object): Promise<string> {
    const made = await this.call('create', 'POST', path, { body, ok: [201], limit: slow })
    const parsed = createdSchema.safeParse(made)
    if (!parsed.success) throw new EngineFault(null, '', `create: not understood: ${z.prettifyError(parsed.error)}`)
    return parsed.data.Id
  }

  /** Where a path in a container leads, itself where it is no link; null where nothing is there. */
  async target(id: string, path: string): Promise<string | null> {
    const request = {
      method: 'HEAD' as const,
      path: `/containers/${id}/archive?path=${encodeURIComponent(path)}&`,
      isStream: true,
      // A link that leads to nothing is told with 404.
      statusCodes: statuses([200, 404]),
    }
    const answer = await bounded('look', slow, signal => this.#dial(request, signal))
    const { headers, statusCode } = (answer as IncomingMessage).resume()
    const header = headers['x-docker-container-path-stat']
    if (header === undefined && statusCode === 404) return null
    const parsed = pathSchema.safeParse(decoded(String(header)))
    if (!parsed.success) throw new EngineFault(null, '', `look: not understood: ${z.prettifyError(parsed.error)}`)
    return parsed.data.linkTarget === '' ? path : parsed.data.linkTarget
  }

  async attach(id: string, to: 'output' | 'stdin'): Promise<Duplex> {
    return await bounded('attach', slow, () => attach(this.#at, id, to))
  }

  /** Fails once the engine is gone: a connection on which nothing is asked ends with it and not before. */
  async untilGone(signal: AbortSignal): Promise<void> {
    const socket = 'socketPath' in this.#at ? connect(this.#at.socketPath) : connect(this.#at.port, this.#at.host)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    socket.on('error', error => reject(faultOf('engine', error)))
    socket.on('close', () => reject(new EngineFault(null, 'ECONNRESET', 'engine: the connection was closed')))
    socket.resume()
    const onAbort = () => {
      resolve()
      socket.destroy()
    }
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    await promise
  }

  async start(id: string): Promise<void> {
    await bounded('start', slow, abortSignal => this.#docker.getContainer(id).start({ abortSignal }))
  }

  /** By hand: dockerode's own never answers where the engine goes away meanwhile. */
  async wait(id: string, signal: AbortSignal): Promise<void> {
    const path = `/containers/${id}/wait?condition=next-exit&`
    try {
      const answer = await this.#dial({ method: 'POST', path, isStream: true, statusCodes: statuses([200]) }, signal)
      let length = 0
      for await (const chunk of answer as IncomingMessage) length += (chunk as Buffer).length
      if (length === 0) throw new EngineFault(null, 'ECONNRESET', 'wait: the engine answered nothing')
    } catch (error) {
      throw faultOf('wait', error)
    }
  }

  async inspect(id: string): Promise<ContainerState | null> {
    const inspected = await orGone(this.call('inspect', 'GET', this.#inspectPath(id), { limit: slow }))
    if (inspected === null) return null
    const parsed = stateSchema.safeParse(inspected)
    if (!parsed.success) throw new EngineFault(null, '', `inspect: not understood: ${z.prettifyError(parsed.error)}`)
    const { State } = parsed.data
    // The engines' zero of time; a container that was only created shows the exit code 0 all the same.
    const started = !State.StartedAt.startsWith('0001-')
    const over = started && !State.Running && ['exited', 'stopped', 'dead', 'removing'].includes(State.Status)
    return {
      running: State.Running,
      started,
      startedAt: State.StartedAt,
      pid: State.Pid,
      over,
      exitCode: over && State.ExitCode >= 0 ? State.ExitCode : null,
      oomKilled: State.OOMKilled,
      controls: this.#readControls(inspected),
    }
  }

  async kill(id: string): Promise<void> {
    const killed = bounded('kill', quick, abortSignal =>
      this.#docker.getContainer(id).kill({ signal: 'SIGKILL', abortSignal }),
    )
    await killed.catch((error: unknown) => {
      // Podman's answer for one that was made and never started.
      if (error instanceof EngineFault && error.message.includes('can only kill running containers')) return
      unlessStatus([404, 409])(error)
    })
  }

  async remove(id: string): Promise<void> {
    const removed = bounded('remove', slow, abortSignal =>
      this.#docker.getContainer(id).remove({ force: true, v: true, abortSignal }),
    )
    await removed.catch(unlessStatus([404, 409]))
  }

  async list(): Promise<ListedContainer[]> {
    const listed = await bounded('list', quick, abortSignal =>
      this.#docker.listContainers({ all: true, filters: { label: [label.owner] }, abortSignal }),
    )
    return listed.map(({ Id, Labels }) => ({ id: Id, labels: Labels ?? {} }))
  }

  #readControls(inspected: unknown): ContainerState['controls'] {
    try {
      return this.#controls(inspected)
    } catch (error) {
      const what = error instanceof z.ZodError ? z.prettifyError(error) : describeError(error)
      throw new EngineFault(null, '', `inspect: not understood: ${what}`)
    }
  }

  async #dial(options: DialOptions, abortSignal: AbortSignal): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const modem: Modem = this.#docker.modem
    modem.dial({ ...options, abortSignal }, (error, data) => (error === null ? resolve(data) : reject(error)))
    return await promise
  }
}

interface CallOptions {
  body?: object
  /** HTTP statuses of success. */
  ok?: readonly number[]
  /** Milliseconds. */
  limit?: number
}

interface DialOptions {
  method: 'GET' | 'POST' | 'HEAD'
  path: string
  options?: { _body: object }
  isStream?: boolean
  statusCodes: { [status: number]: true }
}

/** What is used of dockerode's HTTP client. */
interface Modem {
  dial(options: DialOptions & { abortSignal: AbortSignal }, done: (error: Error | null, data: unknown) => void): void
}

/** Its HTTP client would print each request and answer, with values of secrets, where DEBUG is set as it is loaded. */
async function silently<T>(load: () => Promise<T>): Promise<T> {
  const { DEBUG: asked } = process.env
  delete process.env['DEBUG']
  try {
    return await load()
  } finally {
    if (asked !== undefined) process.env['DEBUG'] = asked
  }
}

/** dockerode for one engine, and where that is. */
export interface Connection {
  docker: Docker
  at: EndPoint
}

/** Loads dockerode, at the first container and never before. */
export async function connectTo(at: EndPoint): Promise<Connection> {
  const Docker = await silently(async () => (await import('dockerode')).default)
  // Explicit, since its own defaults come from the environment of this process.
  return { docker: new Docker({ host: '', timeout: 0, ...at }), at }
}

function decoded(header: string): unknown {
  try {
    return JSON.parse(Buffer.from(header, 'base64').toString())
  } catch {
    return null
  }
}

/** Null for what is not there. */
export async function orGone<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof EngineFault && error.status === 404) return null
    throw error
  }
}

function unlessStatus(fine: readonly number[]): (error: unknown) => void {
  return error => {
    if (!(error instanceof EngineFault && error.status !== null && fine.includes(error.status))) throw error
  }
}

function statuses(ok: readonly number[]): { [status: number]: true } {
  return Object.fromEntries(ok.map(status => [status, true as const]))
}
