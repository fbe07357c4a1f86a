import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { loadNative } from '../native/linux.ts'
import type { Native } from '../native/native.ts'

/** Where the two streams of a process come out, and the ends that it is given. */
export interface OutputPipes {
  stdout: Readable
  stderr: Readable
  /** Descriptors for the child; closed here once it has been started, or has not. */
  given: { stdout: number; stderr: number }
  closeGiven(): void
}

let native: Native | null | undefined

/**
 * Real pipes for stdout and stderr, null where there is no native layer. Node gives a child sockets, which no program can
 * open again by name: `echo error > /dev/stderr` of an ordinary script would fail.
 */
export function openOutputPipes(): OutputPipes | null {
  if (native === undefined) native = nativeHere()
  if (native === null) return null
  const stdout = native.pipe()
  let stderr: ReturnType<Native['pipe']>
  try {
    stderr = native.pipe()
  } catch (error) {
    for (const fd of Object.values(stdout)) closeSync(fd)
    throw error
  }
  return {
    stdout: readerOf(stdout.read),
    stderr: readerOf(stderr.read),
    given: { stdout: stdout.write, stderr: stderr.write },
    closeGiven() {
      closeSync(stdout.write)
      closeSync(stderr.write)
    },
  }
}

function nativeHere(): Native | null {
  if (process.platform !== 'linux') return null
  const layer = loadNative()
  return 'native' in layer ? layer.native : null
}

function readerOf(fd: number): Socket {
  return new Socket({ fd, readable: true, writable: false })
}
