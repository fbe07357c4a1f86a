import type { Json } from './json.ts'
import { textMatcher } from './redact/matcher.ts'
import { patternsOf } from './redact/patterns.ts'
import { type Hiding, redactStream, type StreamRedactor } from './redact/stream.ts'
import { redactValue } from './redact/value.ts'

export { describeError } from './redact/describe-error.ts'
export type { StreamRedactor } from './redact/stream.ts'

/**
 * The one function that guards every public surface: logs, output, issues, ledger, traces. It hides each known secret as
 * it is, line by line, and in base64, percent-encoded and JSON-escaped form. It never throws.
 */
export interface Redactor {
  /** The text with every secret replaced. */
  text(text: string): string
  /** The value with secrets replaced in strings, numbers and keys, and with the values of keys like `token` blanked. */
  json(value: Json): Json
  /**
   * As `json`, but nothing is blanked: for records whose keys are names of files or variables, where a digest under the
   * key `token` is no secret.
   */
  record(value: Json): Json
  /** For bytes that arrive in pieces: a secret split between two of them is found too. */
  stream(): StreamRedactor
}

/** Secrets shorter than this many characters are refused, not hidden. */
export const secretLengthMin = 4

/** A redactor that comes to know more: what it learns is hidden from then on, by its open streams too. */
export interface LearningRedactor extends Redactor {
  /** Values that `secretRefusal` refuses are not hidden. */
  learn(secrets: readonly string[]): void
}

/** A redactor for these values. Values that `secretRefusal` refuses are not hidden. */
export function createRedactor(secrets: readonly string[]): Redactor {
  return learningRedactor(secrets)
}

/** As `createRedactor`, for a run that reads some of its secrets on the way. */
export function learningRedactor(secrets: readonly string[]): LearningRedactor {
  const known = new Set<string>()
  let hiding = hidingOf([])
  const text = (value: string) => hiding.matcher.replace(value, hiding.mask)
  const learn = (values: readonly string[]) => {
    const fresh = values.filter(value => secretRefusal(value) === null && !known.has(value))
    if (fresh.length === 0) return
    for (const value of fresh) known.add(value)
    hiding = hidingOf([...known])
  }
  learn(secrets)
  return {
    text,
    json: value => redactValue(value, { text, mask: hiding.mask, blanks: true }),
    record: value => redactValue(value, { text, mask: hiding.mask, blanks: false }),
    stream: () => redactStream(() => hiding),
    learn,
  }
}

function hidingOf(secrets: readonly string[]): Hiding {
  const patterns = patternsOf(secrets)
  return { matcher: textMatcher(patterns), mask: maskFor([...patterns.texts, ...patterns.base64]) }
}

/** Why a value cannot serve as a secret, null where it can: masking a very short one would shred the log. */
export function secretRefusal(value: string): string | null {
  if (value === '') return 'the secret is empty; give it a value'
  const length = Array.from(value.slice(0, 2 * secretLengthMin)).length
  if (length >= secretLengthMin) return null
  return `the secret has ${length} character${length === 1 ? '' : 's'}, too short to be hidden in a log; use ${secretLengthMin} or more`
}

/** `***`, unless a secret has that character itself: then a mask could complete one. */
function maskFor(patterns: readonly string[]): string {
  const character = ['*', '#', '•', '█', '▓', '░'].find(one => !patterns.some(pattern => pattern.includes(one)))
  return (character ?? '\ufffd').repeat(3)
}
