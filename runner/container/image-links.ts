import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ExecutorError } from '../executor.ts'
import { checkPlace } from '../process/containment/registry.ts'
import type { EngineClient } from './client.ts'
import type { CheckedImage } from './engine.ts'
import { notePlaces } from './notes.ts'

/**
 * Where Podman and its runtime mount, with the directories above. crun makes what is missing there through links of the
 * image, and /workspace read-only only after that (seen with 1.8.1): it would make files in the working directory. Of
 * /workspace itself Podman tells what is bound there: a link is seen in the first process.
 */
const places = [
  ...['/dev', '/etc', '/proc', '/run', '/sys', '/tmp'],
  ...['/etc/group', '/etc/hostname', '/etc/hosts', '/etc/passwd', '/etc/resolv.conf'],
  ...['/run/.containerenv', '/run/secrets'],
] as const

/** Of this list: what was seen by another one counts for nothing. */
const room = `images-${createHash('sha256').update(places.join()).digest('hex').slice(0, 8)}`

/**
 * Refuses an image with a link in one of them, whatever it leads to. Podman takes 0.3 s to tell: an image that has none is
 * remembered, for what an id names never changes. Throws ExecutorError.
 */
export async function refuseLinks(
  client: Pick<EngineClient, 'target'>,
  container: string,
  { id, reference }: CheckedImage,
  rooms = notePlaces().map(place => path.join(path.dirname(place), room)),
): Promise<void> {
  const name = id.replace('sha256:', '')
  if (rooms.some(one => isKept(one, name))) return
  const targets = await Promise.all(places.map(async place => [place, await client.target(container, place)] as const))
  const link = targets.find(([place, target]) => target !== null && target !== place)
  if (link !== undefined)
    throw new ExecutorError(
      'image_unusable',
      `the image ${reference} has a link at ${link[0]}, where podman mounts; nothing ran, use an image with a plain file or directory there`,
    )
  rooms.some(one => keep(one, name))
}

function isKept(place: string, name: string): boolean {
  try {
    checkPlace(place)
    return existsSync(path.join(place, name))
  } catch {
    return false
  }
}

function keep(place: string, name: string): boolean {
  try {
    mkdirSync(place, { recursive: true, mode: 0o700 })
    checkPlace(place)
    writeFileSync(path.join(place, name), '')
    return true
  } catch {
    return false
  }
}
