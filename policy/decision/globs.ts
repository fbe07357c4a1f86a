/**
 * Whether a text is one of those that a pattern of a floor stands for: `*` is any run of characters, `/` and a leading
 * dot among them, everything else is itself. Linear: no part of a pattern reaches a regular expression.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  const [head = '', ...parts] = pattern.split('*')
  const tail = parts.pop()
  if (tail === undefined) return pattern === text
  if (!text.startsWith(head) || !text.endsWith(tail) || text.length < head.length + tail.length) return false
  let at = head.length
  const end = text.length - tail.length
  for (const part of parts) {
    const found = text.indexOf(part, at)
    if (found < 0 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}

/** What is wrong with a pattern over `owner/name`; null where nothing is. One that could match no name protects nothing. */
export function repositoryGlobFault(pattern: string): string | null {
  if (/^[A-Za-z0-9._*-]+\/[A-Za-z0-9._*-]+$/.test(pattern) || /^\*+$/.test(pattern)) return null
  return `\`${pattern}\`: write \`owner/name\`; \`*\` stands for any characters and is the only wildcard`
}
