import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type * as Koffi from 'koffi'
import { describeError } from '../../policy/redact.ts'

/** Systems whose binary is shipped in dist/native. */
const shipped: ReadonlySet<string> = new Set(['linux-x64', 'linux-arm64'])

/**
 * Finds koffi's binary: beside the bundle, whose chunks lie one folder deeper, else from the package in the source tree. No
 * variable of the environment has a say in it.
 */
export function findKoffi(): { file: string } | { absent: string } {
  const target = `${process.platform}-${process.arch}`
  if (!shipped.has(target)) return { absent: `no native layer is shipped for ${target}` }
  const places = [
    path.join(import.meta.dirname, 'native', target, 'koffi.node'),
    path.join(import.meta.dirname, '../native', target, 'koffi.node'),
    path.join(
      import.meta.dirname,
      `../../node_modules/@koromix/koffi-${target}`,
      target.replace('-', '_'),
      'koffi.node',
    ),
  ]
  const file = places.find(existsSync)
  return file === undefined ? { absent: `the native layer native/${target}/koffi.node is missing` } : { file }
}

/** Loads koffi's binary (1.1 MB, 2 ms). */
export function loadKoffi(): { koffi: typeof Koffi } | { absent: string } {
  const found = findKoffi()
  if ('absent' in found) return found
  try {
    return { koffi: createRequire(import.meta.url)(found.file) as typeof Koffi }
  } catch (error) {
    return { absent: `the native layer could not be loaded: ${describeError(error)}` }
  }
}
