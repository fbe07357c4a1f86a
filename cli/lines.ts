import { closeSync, readSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { openRegular, unreadable } from './files.ts'

const chunkBytes = 65_536

/** No line of an export is as long: a row of the ledger holds 64 KiB of JSON. In characters. */
const longestLine = 1_048_576

/** The lines of a regular file, in constant memory. Throws CliError, exit 2, also at a line that no export has. */
export function* linesOf(path: string, name: string): Generator<string> {
  const descriptor = openRegular(path, name)
  try {
    const chunk = Buffer.alloc(chunkBytes)
    const decoder = new StringDecoder('utf8')
    let rest = ''
    for (let read = readChunk(descriptor, chunk, name); read > 0; read = readChunk(descriptor, chunk, name)) {
      const lines = (rest + decoder.write(chunk.subarray(0, read))).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
      if (rest.length > longestLine) throw unreadable(name, `has a line of more than ${longestLine} characters`)
    }
    yield rest + decoder.end()
  } finally {
    closeSync(descriptor)
  }
}

function readChunk(descriptor: number, chunk: Buffer, name: string): number {
  try {
    return readSync(descriptor, chunk, 0, chunk.length, null)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw unreadable(name, `cannot be read (${code})`)
  }
}
