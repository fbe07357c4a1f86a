/**
 * Directories as policies name them: relative to the workspace or absolute, `/`-separated. Purely textual; what a path
 * really is on a host is found by runner/facts.
 */

/** What is wrong with a root as written, with the remedy; null when nothing is. */
export function rootFault(root: string): string | null {
  if (root === '') return 'a directory is needed; write `.` for the whole workspace'
  if (root.includes('\0')) return 'a path holds no NUL byte'
  if (root.startsWith('~')) return '`~` is not expanded; write the directory itself, absolute or workspace-relative'
  if (root.split('/').includes('..')) return 'a `..` component is refused; write the directory without it'
  return null
}

/** One spelling per directory: no empty and no `.` components, no trailing slash; `.` and `/` stay. */
export function normalizeRoot(root: string): string {
  const parts = root.split('/').filter(part => part !== '' && part !== '.')
  if (root.startsWith('/')) return `/${parts.join('/')}`
  return parts.length === 0 ? '.' : parts.join('/')
}

/** Whether `inner` is `outer` or lies below it; both normalised. A relative and an absolute path never contain each other. */
export function rootContains(outer: string, inner: string): boolean {
  if (outer === inner) return true
  if (outer === '.') return !inner.startsWith('/')
  if (outer === '/') return inner.startsWith('/')
  return inner.startsWith(`${outer}/`)
}
