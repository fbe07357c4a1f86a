import type { Unknown } from '../../policy/decision/facts.ts'

/** A fact that could not be established; thrown inside runner/facts, returned at its edge. */
export class UnknownFact extends Error {
  override readonly name = 'UnknownFact'
  readonly fact: Unknown
  constructor(cause: string, detail: string) {
    super(detail)
    this.fact = { known: false, cause, detail }
  }
}

const causes: { [code: string]: [cause: string, text: string] } = {
  ENOENT: ['not_found', 'does not exist'],
  ENOTDIR: ['not_directory', 'passes through something that is not a directory'],
  ELOOP: ['symlink_loop', 'is a symbolic link or loops through them'],
  EACCES: ['not_permitted', 'may not be read by agentctl'],
  EPERM: ['not_permitted', 'may not be read by agentctl'],
  ENAMETOOLONG: ['name_too_long', 'is longer than this file system allows'],
  EISDIR: ['is_directory', 'is a directory'],
  ENXIO: ['not_regular', 'is a socket or a FIFO'],
}

/** The fact's refusal for whatever was thrown while `subject` was looked at. */
export function unknownOf(error: unknown, subject: string): Unknown {
  if (error instanceof UnknownFact) return error.fact
  const code = codeOf(error)
  const known = causes[code]
  if (known !== undefined) return { known: false, cause: known[0], detail: `${JSON.stringify(subject)} ${known[1]}` }
  const text = error instanceof Error ? error.message : String(error)
  return { known: false, cause: code || 'error', detail: `${JSON.stringify(subject)} could not be examined: ${text}` }
}

/** A system error's code, empty for anything else. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
