import { DurableObject } from 'cloudflare:workers'

/** Storage for the shared suites, which run inside the object. */
export class LedgerObject extends DurableObject {}

export default { fetch: () => new Response('tests only', { status: 404 }) }
