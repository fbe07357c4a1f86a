import { posix } from 'node:path'
import { z } from 'zod'
import { type EngineClient, orGone } from './client.ts'
import { type CheckedImage, EngineFault } from './engine.ts'
import { workspace } from './fixed.ts'

const imageSchema = z.object({
  Id: z.string().regex(/^(sha256:)?[0-9a-f]{64}$/),
  Os: z.string(),
  RepoDigests: z.array(z.string()).nullish(),
  Config: z
    .object({
      Env: z.array(z.string()).nullish(),
      Volumes: z.record(z.string(), z.unknown()).nullish(),
    })
    .nullish(),
})

/** Reads what an engine tells of an image; that it is the pinned one is compared, never assumed. Throws EngineFault. */
export function readImage(reference: string, inspected: unknown): CheckedImage {
  const parsed = imageSchema.safeParse(inspected)
  if (!parsed.success) throw new EngineFault(null, '', `image: not understood: ${z.prettifyError(parsed.error)}`)
  const { Id, Os, RepoDigests, Config } = parsed.data
  const id = Id.startsWith('sha256:') ? Id : `sha256:${Id}`
  const digest = reference.slice(reference.indexOf('@') + 1)
  const isPinned = reference.includes('@')
    ? (RepoDigests ?? []).some(one => one.endsWith(`@${digest}`))
    : id === reference
  if (!isPinned) throw new EngineFault(null, 'EIMAGE', `image: the engine answers another one, ${id}`)
  if (Os !== 'linux') throw new EngineFault(null, 'EIMAGE', `image: it is one for ${Os}, not for linux`)
  const entries = (Config?.Env ?? []).map(entry => {
    const [name = '', ...value] = entry.split('=')
    return [name, value.join('=')] as const
  })
  return {
    reference,
    id,
    variables: entries.map(([name]) => name).filter(name => name !== ''),
    path: searchPath(entries.find(([name]) => name === 'PATH')?.[1] ?? ''),
    volumes: Object.keys(Config?.Volumes ?? {}),
  }
}

/** Of an image's PATH what leads to the image itself: by no name would a file of the working directory be the command. */
function searchPath(path: string): string | null {
  const inside = (place: string) => posix.normalize(`${place}/`).startsWith(`${workspace}/`)
  const kept = path.split(':').filter(place => place.startsWith('/') && !inside(place))
  return kept.length === 0 ? null : kept.join(':')
}

/** An image by reference, the same call on both engines. */
export async function imageOf(client: EngineClient, reference: string): Promise<CheckedImage | null> {
  const found = await orGone(client.call('image', 'GET', `/images/${reference}/json`))
  return found === null ? null : readImage(reference, found)
}
