import { type Dirent, lstatSync, opendirSync, type Stats } from 'node:fs'
import { ExecutorError } from '../executor.ts'
import type { Directory } from '../facts/directory.ts'
import { user } from './fixed.ts'

/** More entries than this in a working directory are not walked, and so not run beside. */
const entriesMax = 250_000
const [here, slash] = [Buffer.from('.'), Buffer.from('/')] as const
/** Its types know no names that are bytes. */
interface Dir<Name extends string | Buffer> {
  readSync(): Dirent<Name> | null
  closeSync(): void
}

/**
 * Refuses a working directory in which the container's user could reach a program of the host: a read-only bind stops no
 * connect to a socket and no write to a FIFO. Looked for below it on the same file system, where that user may pass.
 * Throws ExecutorError.
 */
export function refuseDoors(cwd: Directory): void {
  if (process.platform !== 'linux' || cwd.fd === null) return
  const root = Buffer.from(`/proc/self/fd/${cwd.fd}/`)
  const { dev } = lstatSync(Buffer.concat([root, here]))
  let seen = 0
  const waiting = [here]
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const entry of entriesOf(Buffer.concat([root, folder]))) {
      seen += 1
      if (seen > entriesMax)
        throw new ExecutorError(
          'cwd_too_large',
          `the working directory ${cwd.path} has more than ${entriesMax} entries, too many to look for sockets in; name a smaller one`,
        )
      const isDoor = entry.isSocket() || entry.isFIFO()
      if (!isDoor && !entry.isDirectory()) continue
      const place = Buffer.concat([folder, slash, entry.name])
      const stat = lstatSync(Buffer.concat([root, place]), { throwIfNoEntry: false })
      if (stat === undefined) continue
      if (isDoor && may(stat, 0o2)) throw doorIn(cwd, place.toString().slice(2), entry)
      // Nothing that is mounted below comes along.
      if (entry.isDirectory() && stat.dev === dev && may(stat, 0o1)) waiting.push(place)
    }
  }
}

function doorIn(cwd: Directory, place: string, entry: Dirent<Buffer>): ExecutorError {
  const what = entry.isSocket() ? 'socket' : 'FIFO'
  return new ExecutorError(
    'open_door',
    `the working directory ${cwd.path} holds the ${what} ${JSON.stringify(place)}, through which the container could reach a program of this host; remove it, take its write permission from others, or name another cwd`,
  )
}

/** Whether user and group 65532 have a permission (1 pass, 2 write) by the mode bits. */
function may({ mode, uid, gid }: Stats, bit: number): boolean {
  const shift = uid === user ? 6 : gid === user ? 3 : 0
  return (mode & (bit << shift)) !== 0
}

/** A name is bytes: as a text, one that is no UTF-8 would be another's, and not be found. */
function* entriesOf(folder: Buffer): Generator<Dirent<Buffer>> {
  const open = opendirSync(folder, { encoding: 'buffer' as BufferEncoding }) as unknown as Dir<Buffer>
  try {
    for (let entry = open.readSync(); entry !== null; entry = open.readSync()) yield entry
  } finally {
    open.closeSync()
  }
}
