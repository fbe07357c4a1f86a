import { readFileSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute, join, relative, sep } from 'node:path'
import { ActionError } from './failure.ts'

/** A document, a floor or a varsFile is at most 1 MiB (01, Envelope). */
const fileLimitBytes = 1_048_576

/** Canonical path of a file or directory that an input names, found to lie within the checkout. Throws ActionError, exit 2. */
export function withinCheckout(checkout: string, path: string, input: string): string {
  const root = realOf(checkout, 'GITHUB_WORKSPACE', 'check out the repository before agentctl runs')
  const real = realOf(
    isAbsolute(path) ? path : join(root, path),
    `input ${input}`,
    'check the path, and check out the repository before agentctl runs',
  )
  const inside = relative(root, real)
  if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    throw new ActionError('outside_checkout', `input ${input}: ${path} leads out of the checkout`, {
      help: 'name a path inside the checkout',
    })
  return real
}

/** Text of a file of the checkout; at most 1 MiB of UTF-8 in a regular file. Throws ActionError, exit 2. */
export function readCheckoutFile(checkout: string, path: string, input: string): string {
  return readText(withinCheckout(checkout, path, input), `input ${input}: ${path}`)
}

/** Text of a regular file; `name` is how messages call it. Throws ActionError, exit 2. */
export function readText(path: string, name: string): string {
  const unreadable = (why: string) =>
    new ActionError('unreadable_file', `${name} ${why}`, { help: 'check the path and the file' })
  let bytes: Buffer
  try {
    const stat = statSync(path)
    if (!stat.isFile()) throw unreadable(stat.isDirectory() ? 'is a directory' : 'is not a regular file')
    if (stat.size > fileLimitBytes) throw unreadable(`is ${stat.size} bytes, more than ${fileLimitBytes}`)
    bytes = readFileSync(path)
  } catch (error) {
    throw error instanceof ActionError ? error : unreadable(`cannot be read (${codeOf(error)})`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw unreadable('is not UTF-8')
  }
}

function realOf(path: string, name: string, help: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    throw new ActionError('unreadable_file', `${name}: ${path} cannot be read (${codeOf(error)})`, { help })
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
