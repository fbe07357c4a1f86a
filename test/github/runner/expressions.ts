import { asNumber, asText, equal, functions, isTrue, property } from './expression-values.ts'

/** Contexts by name: github, job, matrix, strategy, inputs, secrets, env, steps, needs. */
export interface Contexts {
  readonly [name: string]: unknown
}

/** What the status functions answer where a condition is asked. */
export interface Status {
  success: boolean
  failure: boolean
  cancelled: boolean
}

/** Replaces `${{ ... }}` in a text. */
export const interpolate = (text: string, contexts: Contexts): string =>
  text.replaceAll(/\$\{\{(.*?)\}\}/gs, (_, expression: string) => asText(evaluate(expression, contexts)))

const STATUS = /\b(always|success|failure|cancelled)\s*\(/

/**
 * Whether a step or job runs. A condition without a status function is taken with `success() &&` before it
 * (https://docs.github.com/en/actions/reference/evaluate-expressions-in-workflows-and-actions#status-check-functions).
 */
export function holds(condition: string | undefined, contexts: Contexts, status: Status): boolean {
  const text = (condition ?? 'success()').replace(/^\s*\$\{\{(.*)\}\}\s*$/s, '$1')
  if (!STATUS.test(text) && !status.success) return false
  return isTrue(evaluate(text, contexts, status))
}

const TOKEN = /\s*(?:('(?:[^']|'')*')|(\d[\w.]*|-\d[\w.]*)|([A-Za-z_][\w-]*)|(==|!=|<=|>=|&&|\|\||[()[\]!<>,.]))/y

/** The value of an expression. Throws on what is no expression of GitHub's. */
export function evaluate(expression: string, contexts: Contexts, status?: Status): unknown {
  const tokens = tokensOf(expression)
  let at = 0
  const peek = () => tokens[at] ?? ''
  const take = (wanted?: string): string => {
    const token = peek()
    if (token === '' || (wanted !== undefined && token !== wanted))
      throw new Error(`the expression \${{ ${expression} }} ends early or reads wrong at '${token}'`)
    at++
    return token
  }
  const binary =
    (operators: { readonly [operator: string]: (a: unknown, b: unknown) => unknown }, next: () => unknown) => () => {
      let value = next()
      for (let apply = operators[peek()]; apply !== undefined; apply = operators[peek()]) {
        take()
        value = apply(value, next())
      }
      return value
    }
  const primary = (): unknown => {
    const token = take()
    if (token === '(') {
      const value = or()
      take(')')
      return value
    }
    if (token === '!') return !isTrue(trail(primary()))
    if (token.startsWith("'")) return token.slice(1, -1).replaceAll("''", "'")
    if (/^-?\d/.test(token)) return asNumber(token)
    if (peek() === '(') return call(token)
    if (token === 'true' || token === 'false') return token === 'true'
    return token === 'null' ? null : property(contexts, token)
  }
  const trail = (start: unknown): unknown => {
    let value = start
    while (peek() === '.' || peek() === '[') {
      if (take() === '.') value = property(value, take())
      else {
        value = property(value, asText(or()))
        take(']')
      }
    }
    return value
  }
  const call = (name: string): unknown => {
    take('(')
    const args: unknown[] = []
    while (peek() !== ')') {
      args.push(or())
      if (peek() === ',') take()
    }
    take(')')
    const lower = name.toLowerCase()
    if (lower === 'always') return true
    if (status !== undefined && (lower === 'success' || lower === 'failure' || lower === 'cancelled'))
      return status[lower]
    const known = functions[lower]
    if (known === undefined) throw new Error(`the double does not evaluate ${name}() in \${{ ${expression} }}`)
    return known(...args)
  }
  const compared = binary(
    {
      '==': equal,
      '!=': (a, b) => !equal(a, b),
      '<': (a, b) => asNumber(a) < asNumber(b),
      '<=': (a, b) => asNumber(a) <= asNumber(b),
      '>': (a, b) => asNumber(a) > asNumber(b),
      '>=': (a, b) => asNumber(a) >= asNumber(b),
    },
    () => trail(primary()),
  )
  const and = binary({ '&&': (a, b) => (isTrue(a) ? b : a) }, compared)
  const or = binary({ '||': (a, b) => (isTrue(a) ? a : b) }, and)
  const value = or()
  if (at < tokens.length) throw new Error(`the expression \${{ ${expression} }} goes on after its end with '${peek()}'`)
  return value
}

function tokensOf(expression: string): string[] {
  const tokens: string[] = []
  const text = expression.trim()
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const from = TOKEN.lastIndex
    const match = TOKEN.exec(text)
    if (!match) throw new Error(`the double does not read '${text.slice(from)}' in \${{ ${text} }}`)
    tokens.push(match[0].trim())
  }
  return tokens
}
