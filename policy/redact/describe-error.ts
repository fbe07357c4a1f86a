const causesMax = 5

/** Text of whatever was thrown: errors with their causes, anything else as it is. Never throws, whatever it is given. */
export function describeError(thrown: unknown): string {
  const seen: unknown[] = []
  const parts: string[] = []
  let current = thrown
  do {
    seen.push(current)
    const part = describeOne(current)
    // One that only hands its cause's text on says it once.
    if (parts.at(-1)?.includes(part) !== true) parts.push(part)
    current = property(current, 'cause') ?? null
  } while (current !== null && !seen.includes(current) && seen.length < causesMax)
  return parts.join(': ')
}

function describeOne(value: unknown): string {
  if (typeof value === 'string') return value
  const message = property(value, 'message')
  const name = property(value, 'name')
  if (typeof message === 'string' && message !== '') {
    return typeof name === 'string' && name !== '' && name !== 'Error' ? `${name}: ${message}` : message
  }
  if (value instanceof Error) return typeof name === 'string' && name !== '' ? name : 'Error'
  return asJson(value) ?? asText(value)
}

function property(value: unknown, name: string): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined
  try {
    return (value as { [key: string]: unknown })[name]
  } catch {
    return undefined
  }
}

/** An object that is met again stands there once. */
function asJson(value: unknown): string | undefined {
  const seen = new Set<unknown>()
  const once = (_: string, field: unknown) => {
    if (typeof field !== 'object' || field === null) return field
    if (seen.has(field)) return '[seen above]'
    seen.add(field)
    return field
  }
  try {
    return typeof value === 'object' ? JSON.stringify(value, once) : undefined
  } catch {
    return undefined
  }
}

function asText(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'a value that cannot be shown'
  }
}
