import type { Directory } from './directory.ts'
import type { DirectoryTables } from './tables.ts'

/** Tables of this process as a Directory. */
export function directoryOver(tables: DirectoryTables): Directory {
  return {
    remember: async repository => tables.remember(repository),
    find: async (owner, name) => tables.find(owner, name),
    update: async (id, state) => tables.update(id, state),
    pending: async (after, limit) => tables.pending(after, limit),
    due: async now => tables.due(now),
  }
}
