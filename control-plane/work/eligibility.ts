import type { Account } from '../github/index.ts'
import type { RepositoryContext } from '../repository/context.ts'

/** Legacy permissions that include write; roles between them have one of these as their base. */
const writing = ['write', 'maintain', 'admin']

/** Whether an account may cancel a run: a person who can write, read from GitHub at this moment. */
export async function mayCancel(
  context: RepositoryContext,
  account: Account,
): Promise<{ ok: true; value: boolean } | { ok: false; message: string }> {
  if (account.type !== 'User') return { ok: true, value: false }
  const answer = await context.github.permission(account.login)
  if (!answer.ok) {
    return answer.code === 'not_found' ? { ok: true, value: false } : { ok: false, message: answer.message }
  }
  const { user, permission } = answer.value
  return { ok: true, value: user.id === account.id && writing.includes(permission) }
}
