import type { Route } from '../call.ts'
import { notFound } from '../errors.ts'

export const metaRoutes: readonly Route[] = [
  {
    operation: 'GET /meta',
    access: { kind: 'anyone' },
    handle: () => ({ status: 200, body: { verifiable_password_authentication: true } }),
  },
  {
    operation: 'GET /rate_limit',
    access: { kind: 'anyone' },
    handle: ({ services }) => {
      const one = {
        limit: 5000,
        used: 0,
        remaining: 5000,
        reset: Math.floor(services.world.now().getTime() / 1000) + 3600,
      }
      return { status: 200, body: { resources: { core: one, search: one }, rate: one } }
    },
  },
  {
    operation: 'DELETE /installation/token',
    access: { kind: 'installation' },
    handle: ({ services, caller }) => {
      if (caller.kind !== 'installation') throw notFound()
      services.tokens.revokeCaller(caller)
      return { status: 204 }
    },
  },
]
