import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { ExecutorError } from '../executor.ts'
import type { EndPoint } from './end-point.ts'
import type { EngineKind } from './engine.ts'

/** The runner's environment; a document has no say in where an engine is. */
export type Environment = { readonly [name: string]: string | undefined }

export interface EngineAddress {
  /** As it is told, `unix:///run/docker.sock`. */
  shown: string
  at: EndPoint
  /** Whether somebody asked for this very place, so that nothing else may stand in for it. */
  isExplicit: boolean
}

const contextSchema = z.object({
  Endpoints: z.object({ docker: z.object({ Host: z.string(), SkipTLSVerify: z.boolean().optional() }) }),
})
const configSchema = z.object({ currentContext: z.string().optional() })

/** Where Docker answers: DOCKER_HOST, else the current context, else its usual socket. Throws ExecutorError. */
export function dockerAddress(environment: Environment): EngineAddress {
  const host = environment['DOCKER_HOST']
  if (host) return addressOf('docker', 'DOCKER_HOST', host, environment['DOCKER_CERT_PATH'], environment)
  const folder = environment['DOCKER_CONFIG'] || path.join(environment['HOME'] || '/', '.docker')
  const context = environment['DOCKER_CONTEXT'] || currentContext(folder)
  if (context === '' || context === 'default') return { ...socket('/var/run/docker.sock'), isExplicit: false }
  const digest = createHash('sha256').update(context).digest('hex')
  const meta = read(path.join(folder, 'contexts/meta', digest, 'meta.json'))
  const parsed = contextSchema.safeParse(meta)
  const source = `the Docker context ${JSON.stringify(context)}`
  if (!parsed.success)
    throw new ExecutorError('engine_address', `${source} cannot be read; correct it, or set DOCKER_HOST for the runner`)
  const certificates = path.join(folder, 'contexts/tls', digest, 'docker')
  return addressOf('docker', source, parsed.data.Endpoints.docker.Host, certificates, environment)
}

/** Where Podman answers: CONTAINER_HOST, else the usual socket of the user. Throws ExecutorError. */
export function podmanAddress(environment: Environment, uid = process.geteuid?.() ?? -1): EngineAddress {
  const host = environment['CONTAINER_HOST']
  if (host) return addressOf('podman', 'CONTAINER_HOST', host, undefined, environment)
  const folder = uid === 0 ? '/run' : environment['XDG_RUNTIME_DIR'] || `/run/user/${uid}`
  return { ...socket(path.join(folder, 'podman/podman.sock')), isExplicit: false }
}

function addressOf(
  kind: EngineKind,
  source: string,
  host: string,
  certificates: string | undefined,
  environment: Environment,
): EngineAddress {
  const refused = (why: string) =>
    new ExecutorError('engine_address', `${source} names ${kind} at ${JSON.stringify(host)}, ${why}`)
  if (host.startsWith('unix://')) {
    const place = host.slice('unix://'.length)
    if (!path.isAbsolute(place)) throw refused('which is no absolute path; write unix:///run/docker.sock')
    return { ...socket(place), isExplicit: true }
  }
  if (host.startsWith('npipe://'))
    return { shown: host, at: { socketPath: host.slice('npipe://'.length) }, isExplicit: true }
  if (host.startsWith('ssh://'))
    throw refused('an engine over ssh, which does not see the runner’s directories; use an engine of this host')
  let url: URL
  try {
    url = new URL(host.replace(/^tcp:/, 'http:'))
  } catch {
    throw refused('which is no address; write unix:///run/docker.sock or tcp://127.0.0.1:2376')
  }
  if (!['http:', 'https:'].includes(url.protocol)) throw refused('which is no address that can be asked; use unix://')
  const isVerified = kind === 'docker' && Boolean(environment['DOCKER_TLS_VERIFY'])
  const isTls = isVerified || url.protocol === 'https:' || url.port === '2376'
  const port = Number(url.port || (isTls ? 2376 : 2375))
  const shown = `tcp://${url.hostname}:${port}`
  if (!isTls) return { shown, at: { host: url.hostname, port, protocol: 'http' }, isExplicit: true }
  const folder = certificates || path.join(environment['HOME'] || '/', '.docker')
  const pem = (name: string) => {
    try {
      return readFileSync(path.join(folder, name), 'utf8')
    } catch {
      throw refused(`and its ${name} cannot be read in ${folder}; set DOCKER_CERT_PATH`)
    }
  }
  const identity = { ca: pem('ca.pem'), cert: pem('cert.pem'), key: pem('key.pem') }
  return { shown, at: { host: url.hostname, port, protocol: 'https', ...identity }, isExplicit: true }
}

function socket(place: string): Omit<EngineAddress, 'isExplicit'> {
  return { shown: `unix://${place}`, at: { socketPath: place } }
}

function currentContext(folder: string): string {
  const parsed = configSchema.safeParse(read(path.join(folder, 'config.json')))
  return parsed.success ? (parsed.data.currentContext ?? '') : ''
}

function read(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}
