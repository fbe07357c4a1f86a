import { requiresAuthentication } from '../errors.ts'
import type { Author } from '../issues.ts'
import type { Caller } from '../tokens.ts'

/** Under whose name a caller writes. */
export function author(caller: Caller): Author {
  if (caller.kind === 'installation' || caller.kind === 'job') return { user: caller.user, via: caller.app }
  if (caller.kind === 'user') return { user: caller.user, via: caller.app }
  throw requiresAuthentication()
}
