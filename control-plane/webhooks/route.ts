import { Hono } from 'hono'
import type { JsonObject } from '../../policy/json.ts'
import type { Dependencies } from '../dependencies.ts'
import { type Answer, answered, problemResponse, refused } from '../problem.ts'
import type { Delivery } from '../repository/handle.ts'
import { countedActions, type EventName, type EventPayload, eventSchemas } from './events.ts'
import { passGates, type SignedDelivery } from './gates.ts'
import { signatureVerifier } from './signature.ts'

/**
 * POST /webhooks/github: a delivery that passes every gate becomes one row of its repository's inbox, and the answer is
 * 202 only once that row is durable. The work on it comes later, so GitHub never waits for it.
 */
export function webhookRoute(
  dependencies: Pick<Dependencies, 'config' | 'clock' | 'repositories' | 'directory'>,
): Hono {
  const verify = signatureVerifier(dependencies.config.webhookSecrets)
  const app = new Hono()
  app.all('/webhooks/github', async context => {
    const passed = await passGates(context.req.raw, verify)
    if (!passed.ok) {
      const response = problemResponse(passed.refusal)
      if (passed.refusal.status === 405) response.headers.set('allow', 'POST')
      return response
    }
    const read = readDelivery(passed.value, dependencies.clock.now())
    if (!read.ok) return problemResponse(read.refusal)
    const { delivery, names } = read.value
    for (const name of names) await dependencies.directory.remember(name)
    if (delivery === null) return context.json({ outcome: names.length > 0 ? 'noted' : 'ignored' }, 202)
    const outcome = await dependencies.repositories.get(delivery.repository.id).deliver(delivery)
    return context.json({ outcome }, 202)
  })
  return app
}

interface Read {
  /** What goes into the inbox, null for events and actions that lead to no work. */
  delivery: Delivery | null
  /** Repository names that an installation event proves. */
  names: Delivery['repository'][]
}

function readDelivery(signed: SignedDelivery, now: Date): Answer<Read> {
  const { event } = signed
  if (!isCounted(event)) return answered({ delivery: null, names: [] })
  const parsed = eventSchemas[event].safeParse(signed.payload)
  if (!parsed.success) {
    const where = parsed.error.issues[0]?.path.join('.') ?? ''
    return refused(422, 'bad_payload', `the payload is no ${event} event: see ${where === '' ? 'its top' : where}`)
  }
  const payload = parsed.data
  if (!countedActions[event].includes(payload.action)) return answered({ delivery: null, names: [] })
  if (!('repository' in payload)) return answered({ delivery: null, names: namesIn(payload) })
  const { repository, ...rest } = payload
  const delivery = {
    delivery: signed.delivery,
    event,
    action: payload.action,
    comment: commentOf(payload),
    payload: rest satisfies JsonObject,
    repository,
    receivedAt: now.toISOString(),
  }
  return answered({ delivery, names: [] })
}

/** A comment decides once, whatever hook brings it; its later edits are events of their own. */
function commentOf(payload: EventPayload<EventName>): number | null {
  return 'comment' in payload && payload.action === 'created' ? payload.comment.id : null
}

function isCounted(event: string): event is EventName {
  return Object.hasOwn(eventSchemas, event)
}

/** At most 100 names: the others are learnt from their own events and tokens. */
function namesIn(payload: EventPayload<'installation' | 'installation_repositories'>): Delivery['repository'][] {
  const repositories = 'repositories_added' in payload ? payload.repositories_added : (payload.repositories ?? [])
  return repositories.slice(0, 100).flatMap(({ id, full_name }) => {
    const [owner, name, ...rest] = full_name.split('/')
    return owner && name && rest.length === 0 ? [{ id, owner, name }] : []
  })
}
