/**
 * Makes a directory and those above it, for this user alone. Not Node's recursive mkdir: where a file system refuses a
 * name with ENOENT although its parent is there, as /proc does, that one tries for ever. Throws what mkdir throws.
 */
export function makeDirectories(path: string): void {
  // Asked for when needed, since this module is also in the Worker's bundle, which has no node:fs.
  const { existsSync, mkdirSync } = process.getBuiltinModule('node:fs')
  const { dirname } = process.getBuiltinModule('node:path')
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path) makeDirectories(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process was faster.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
