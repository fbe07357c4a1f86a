import type { Context } from './context.ts'

/** True the first time that a key is used; `sweep` forgets it after its expiry. */
export function useOnce(context: Context, key: string, expiresAt: string): boolean {
  const rows = context.sql.all(
    'INSERT INTO once (key, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING 1',
    key,
    expiresAt,
  )
  return rows.length === 1
}
