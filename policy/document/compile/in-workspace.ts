/** `name` below `directory`, `/`-separated; null where it is absolute, leads upwards or holds a template. */
export function inWorkspace(directory: string, name: string): string | null {
  if (name.startsWith('/') || name.includes('\\') || name.includes('\0') || name.includes('${{')) return null
  const parts = name.split('/').filter(part => part !== '' && part !== '.')
  if (parts.length === 0 || parts.includes('..')) return null
  const base = directory.split('/').filter(part => part !== '' && part !== '.')
  return [...base, ...parts].join('/')
}
