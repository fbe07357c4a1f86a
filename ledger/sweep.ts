import type { Context } from './context.ts'
import { dropExpired } from './memory/long-term.ts'

const day = 86_400_000

/** Drops what no longer serves: expired values of the long-term memory, unreferenced blobs and old command ids after a day, done inbox rows after 30, used keys. */
export function sweep(context: Context): void {
  const { sql } = context
  const now = context.clock.now().getTime()
  const yesterday = new Date(now - day).toISOString()
  const lastMonth = new Date(now - 30 * day).toISOString()
  sql.transaction(() => {
    dropExpired(context, new Date(now).toISOString())
    const gone = JSON.stringify(
      sql
        .all(
          `SELECT sha256 FROM blobs b WHERE created_at < ? AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.sha256 = b.sha256)
           LIMIT 1000`,
          yesterday,
        )
        .map(row => row[0] ?? null),
    )
    sql.run('DELETE FROM blob_parts WHERE sha256 IN (SELECT value FROM json_each(?))', gone)
    sql.run('DELETE FROM blobs WHERE sha256 IN (SELECT value FROM json_each(?))', gone)
    sql.run('DELETE FROM commands WHERE run IN (SELECT run FROM runs WHERE ended_at < ?)', yesterday)
    sql.run("DELETE FROM inbox WHERE state = 'done' AND received_at < ?", lastMonth)
    sql.run('DELETE FROM once WHERE expires_at < ?', new Date(now).toISOString())
  })
}
