import { type Account, type Result, success } from '../github/index.ts'
import type { RepositoryContext } from '../repository/context.ts'

/** github-actions[bot] on github.com and ghe.com; a GHES host has its own number for it. */
export const actionsBotId = 41_898_282
const actionsBotLogin = 'github-actions[bot]'

/** Accounts whose issues may be registered: the Action's, by the job's token, and ours. */
export async function issueAuthors(context: RepositoryContext): Promise<Result<{ self: Account; ids: Set<number> }>> {
  const self = await context.github.self()
  if (!self.ok) return self
  const ids = new Set([actionsBotId, self.value.id])
  if (!isOwnServer(context.config.apiUrl)) return success({ self: self.value, ids })
  const bot = await context.github.user(actionsBotLogin)
  if (bot.ok && bot.value.type === 'Bot' && bot.value.login === actionsBotLogin) ids.add(bot.value.id)
  return bot.ok || bot.code === 'not_found' ? success({ self: self.value, ids }) : bot
}

/** GHES serves its API below a path of its own host. */
function isOwnServer(apiUrl: string): boolean {
  return new URL(apiUrl).pathname.startsWith('/api/v3')
}
