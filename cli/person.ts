import { z } from 'zod'
import type { Person } from '../policy/approval/record.ts'
import { createRedactor } from '../policy/redact.ts'
import type { Context } from './command.ts'
import { CliError } from './failure.ts'
import { localUser } from './ledger.ts'

/** Options of the commands by which a person decides something. */
export const personOptionsSchema = z.object({ reason: z.string(), actor: z.string().optional() })

/** Who decides: the local user, who may say under which name. The user id alone is the identity, whatever the name. */
export function personOf(context: Pick<Context, 'user'>, name: string | undefined): Person {
  const login = localUser(context)
  if (name === undefined) return { id: null, login }
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._@+-]{0,63}$/u.test(name))
    throw new CliError('invalid_actor', `--actor ${JSON.stringify(name)} is no name`, {
      help: 'use letters, digits, spaces and . _ @ + -, at most 64 characters',
    })
  return { id: null, login: `${login} ${name}` }
}

/** A reason for the record: not empty, what looks like a secret blanked. Throws CliError, exit 2. */
export function reasonOf(text: string): string {
  const reason = text.trim()
  if (reason === '' || reason.length > 2_000)
    throw new CliError('invalid_reason', '--reason must be 1 to 2,000 characters', { help: 'say in a line why' })
  return createRedactor([]).text(reason)
}
