import type { MiddlewareHandler } from 'hono'

// Nothing that this app serves today loads or frames anything.
const headers: { [name: string]: string } = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Security headers on every answer; HSTS where the control plane is reached by https. */
export function securityHeaders(publicUrl: string): MiddlewareHandler {
  const secure = publicUrl.startsWith('https:')
  return async function securityHeaders(c, next) {
    await next()
    for (const [name, value] of Object.entries(headers)) {
      if (!c.res.headers.has(name)) c.res.headers.set(name, value)
    }
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store')
    if (secure) c.res.headers.set('strict-transport-security', 'max-age=31536000')
  }
}
