import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Native } from '../native/native.ts'
import type { Streams } from './spawned-process.ts'

/** agentctl's ends, and for the process the other ones: descriptors for 0, 1 and 2, to be closed once it has them. */
export interface Pipes extends Streams {
  given: (number | null)[]
}

/**
 * Real pipes. Node gives a child sockets, which no program can open again by name: `echo error > /dev/stderr` of an
 * ordinary script would fail.
 */
export function openPipes(native: Native, withStdin: boolean): Pipes {
  const ends: { read: number; write: number }[] = []
  try {
    for (let count = withStdin ? 3 : 2; count > 0; count -= 1) ends.push(native.pipe())
  } catch (error) {
    for (const { read, write } of ends) for (const fd of [read, write]) closeSync(fd)
    throw error
  }
  const [stdout, stderr, stdin] = ends
  if (stdout === undefined || stderr === undefined) throw new Error('no pipes were made')
  return {
    stdin: stdin === undefined ? null : new Socket({ fd: stdin.write, readable: false, writable: true }),
    stdout: readerOf(stdout.read),
    stderr: readerOf(stderr.read),
    given: [stdin?.read ?? null, stdout.write, stderr.write],
  }
}

function readerOf(fd: number): Socket {
  return new Socket({ fd, readable: true, writable: false })
}
