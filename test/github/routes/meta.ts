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
    handle: ({ services, caller }) => {
      const core = services.limits.state(caller, 'core')
      const graphql = services.limits.state(caller, 'graphql')
      return { status: 200, body: { resources: { core, search: core, graphql }, rate: core } }
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
