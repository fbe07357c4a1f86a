/** Contexts by name: github, job, matrix, inputs, env, steps, needs. */
export interface Contexts {
  readonly [name: string]: unknown
}

/** Replaces `${{ ... }}` in a text. Only what action.yml defaults and our workflows use: literals, property paths, toJSON. */
export const interpolate = (text: string, contexts: Contexts): string =>
  text.replaceAll(/\$\{\{(.*?)\}\}/gs, (_, expression: string) => asText(evaluate(expression.trim(), contexts)))

function evaluate(expression: string, contexts: Contexts): unknown {
  const json = /^toJSON\((.*)\)$/is.exec(expression)
  if (json) return JSON.stringify(evaluate((json[1] ?? '').trim(), contexts) ?? null, null, 2)
  const literal = /^'((?:[^']|'')*)'$/.exec(expression)
  if (literal) return (literal[1] ?? '').replaceAll("''", "'")
  if (!/^[\w-]+(?:\.[\w-]+)*$/.test(expression)) throw new Error(`the double does not evaluate \${{ ${expression} }}`)
  let value: unknown = contexts
  for (const part of expression.split('.')) {
    // A missing property of any context is empty, as at GitHub.
    value = typeof value === 'object' && value !== null ? (value as { [key: string]: unknown })[part] : undefined
  }
  return value
}

const asText = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? 'Object' : String(value)
}
