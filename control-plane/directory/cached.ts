import type { Clock } from '../../policy/ports.ts'
import type { Directory, RepositoryName } from './directory.ts'

const keepMs = 60_000
const keepAtMost = 10_000

/** A directory whose names are kept for a minute in this process, so that the shared one stays off the hot path. */
export function cachedDirectory(directory: Directory, clock: Clock): Directory {
  const names = new Map<string, { repository: RepositoryName; until: number }>()
  const keyOf = (owner: string, name: string) => `${owner}/${name}`.toLowerCase()

  function keep(key: string, repository: RepositoryName): void {
    if (names.size >= keepAtMost) names.clear()
    names.set(key, { repository, until: clock.now().getTime() + keepMs })
  }

  function kept(key: string): RepositoryName | null {
    const found = names.get(key)
    return found !== undefined && clock.now().getTime() < found.until ? found.repository : null
  }

  return {
    update: (id, state) => directory.update(id, state),
    pending: (after, limit) => directory.pending(after, limit),
    due: now => directory.due(now),
    async remember(repository) {
      const key = keyOf(repository.owner, repository.name)
      const same = kept(key)
      if (same?.id === repository.id && same.owner === repository.owner && same.name === repository.name) return
      await directory.remember(repository)
      keep(key, repository)
    },
    async find(owner, name) {
      const key = keyOf(owner, name)
      const known = kept(key)
      if (known !== null) return known
      const found = await directory.find(owner, name)
      if (found !== null) keep(key, found)
      return found
    },
  }
}
