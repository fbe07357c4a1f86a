/** Names alone, a bare one told apart: the values may be secrets. */
export function namesIn(environment: readonly string[]): string {
  const names = environment.map(entry => (entry.includes('=') ? `${entry.slice(0, entry.indexOf('='))}=` : entry))
  return JSON.stringify(names.sort())
}
