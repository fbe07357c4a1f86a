import { readFileSync } from 'node:fs'
import { ExecutorError } from '../executor.ts'
import type { Directory } from '../facts/directory.ts'
import type { Engine } from './engine.ts'

/**
 * Refuses a working directory with something mounted below it where the engine's runtime would carry that into the
 * container, writable as it is here: crun binds recursively whatever it is asked (seen with 1.8.1), runc does not. Throws
 * ExecutorError.
 */
export function refuseNested({ path: place }: Directory, engine: Pick<Engine, 'kind' | 'hidesNestedMounts'>): void {
  if (process.platform !== 'linux' || engine.hidesNestedMounts) return
  const nested = mountPoints().find(one => one.startsWith(place === '/' ? place : `${place}/`))
  if (nested === undefined) return
  throw new ExecutorError(
    'nested_mount',
    `${JSON.stringify(nested)} is mounted below the working directory ${place}, and the runtime of ${engine.kind} would carry it in, writable; unmount it, name another cwd, or use runc as the engine's runtime`,
  )
}

/** Of this process's mount namespace. The kernel writes blanks and backslashes as three octal digits. */
function mountPoints(): string[] {
  const lines = readFileSync('/proc/self/mountinfo', 'latin1').split('\n').filter(Boolean)
  return lines.map(line => {
    const escaped = line.split(' ')[4] ?? ''
    const bytes = escaped.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    return Buffer.from(bytes, 'latin1').toString()
  })
}
