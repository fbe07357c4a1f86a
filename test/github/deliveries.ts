import { createHmac, randomUUID } from 'node:crypto'
import { covers } from './access.ts'
import type { Installation } from './model.ts'
import type { Validator, Violation } from './openapi/validator.ts'
import type { Event } from './payloads.ts'
import { iso, nodeId, type World } from './world.ts'

export interface HookOptions {
  /** Where deliveries are posted, for example `http://127.0.0.1:8080/webhooks/github`. */
  url: string
  secret: string
  /** Default: every event. */
  events?: readonly string[]
  /** Our App's hook (default; payloads name the installation), or one repository's own. */
  target?: 'app' | { repository: number }
}

export interface Hook {
  id: number
  url: string
  secret: string
  events: readonly string[]
  target: 'app' | { repository: number }
  active: boolean
}

export interface Delivery {
  id: number
  /** x-github-delivery. A redelivery has the same, unless a new one was asked for. */
  guid: string
  hook: Hook
  event: string
  action: string
  repositoryId: number | null
  installationId: number | null
  /** The raw body, byte for byte what is signed. */
  body: string
  redelivery: boolean
  state: 'held' | 'sending' | 'delivered' | 'failed' | 'lost'
  /** HTTP status of the receiver, 0 where none came. */
  status: number
  response: string
  milliseconds: number
  at: Date
}

export type DeliveryFilter = (delivery: Delivery) => boolean

/** x-hub-signature-256 of a body. */
export const signature = (body: string | Uint8Array, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

/** Hooks and deliveries. As GitHub, it sends each delivery once, gives up after 10 s, and repeats only when told to. */
export class DeliveryLog {
  readonly hooks: Hook[] = []
  readonly all: Delivery[] = []
  readonly #world: World
  readonly #installations: () => readonly Installation[]
  readonly #app: () => number
  readonly #validator: Validator
  readonly #violations: Violation[]
  readonly #lose: { filter: DeliveryFilter; left: number }[] = []
  #holding = false
  #sending = 0

  constructor(
    world: World,
    validator: Validator,
    violations: Violation[],
    app: () => number,
    installations: () => readonly Installation[],
  ) {
    this.#world = world
    this.#validator = validator
    this.#violations = violations
    this.#app = app
    this.#installations = installations
  }

  /** Registers a hook; GitHub's `ping` is not sent. */
  addHook({ url, secret, events = ['*'], target = 'app' }: HookOptions): Hook {
    const hook: Hook = { id: this.#world.id(), url, secret, events, target, active: true }
    this.hooks.push(hook)
    return hook
  }

  removeHook(hook: Hook): void {
    this.hooks.splice(this.hooks.indexOf(hook), 1)
  }

  /** Deliveries of an event, oldest first. */
  of(event: string, action?: string): Delivery[] {
    return this.all.filter(d => d.event === event && (action === undefined || d.action === action))
  }

  /** The next `times` matching deliveries never arrive. */
  lose(filter: DeliveryFilter = () => true, times = 1): void {
    this.#lose.push({ filter, left: times })
  }

  /** From now on deliveries wait for `release`. */
  hold(): void {
    this.#holding = true
  }

  /** Sends what was held, one after the other, in this order; ends the holding. Resolves when all are answered. */
  async release(order: 'forwards' | 'backwards' = 'forwards'): Promise<void> {
    this.#holding = false
    const held = this.all.filter(d => d.state === 'held')
    for (const delivery of order === 'forwards' ? held : held.reverse()) await this.#send(delivery)
  }

  /** Sends it again `count` times at once, under its own id or new ones; resolves when all are answered. */
  async redeliver(
    delivery: Delivery,
    { count = 1, newId = false }: { count?: number; newId?: boolean } = {},
  ): Promise<Delivery[]> {
    const copies = Array.from({ length: count }, () => {
      const copy: Delivery = {
        ...delivery,
        id: this.#world.id(),
        guid: newId ? randomUUID() : delivery.guid,
        redelivery: true,
        state: 'sending',
        status: 0,
        response: '',
        at: this.#world.now(),
      }
      this.all.push(copy)
      return copy
    })
    await Promise.all(copies.map(copy => this.#send(copy)))
    return copies
  }

  /** Resolves when nothing is being sent. */
  async idle(): Promise<void> {
    await this.#world.until(
      () => this.#sending === 0,
      15_000,
      () => `${this.#sending} deliveries are still being sent`,
    )
  }

  /** Hands the event to every hook that wants it, without waiting for the receivers. */
  emit(event: Event): void {
    this.#world.changed()
    for (const hook of this.hooks) {
      const installation = hook.target === 'app' ? this.#heardBy(event) : null
      if (!hook.active || !wants(hook, event, installation)) continue
      const body = {
        ...event.body,
        ...(installation &&
          event.repository && { installation: { id: installation.id, node_id: nodeId('MDI', installation.id) } }),
      }
      const name = `${event.name}-${event.action}`.replaceAll('_', '-')
      this.#violations.push(...this.#validator.payload(name, body))
      const delivery: Delivery = {
        id: this.#world.id(),
        guid: randomUUID(),
        hook,
        event: event.name,
        action: event.action,
        repositoryId: event.repository?.id ?? null,
        installationId: installation?.id ?? null,
        body: JSON.stringify(body),
        redelivery: false,
        state: this.#holding ? 'held' : 'sending',
        status: 0,
        response: '',
        milliseconds: 0,
        at: this.#world.now(),
      }
      this.all.push(delivery)
      if (this.#lost(delivery)) delivery.state = 'lost'
      else if (!this.#holding) void this.#send(delivery)
    }
  }

  #lost(delivery: Delivery): boolean {
    const rule = this.#lose.find(({ filter }) => filter(delivery))
    if (!rule) return false
    rule.left--
    if (rule.left <= 0) this.#lose.splice(this.#lose.indexOf(rule), 1)
    return true
  }

  #heardBy(event: Event): Installation | null {
    const found = this.#installations().find(
      one =>
        one.account === event.account && (event.repository === null || covers(one.repositories, event.repository.id)),
    )
    return found && (!found.suspendedAt || event.name === 'installation') ? found : null
  }

  async #send(delivery: Delivery): Promise<void> {
    const { hook } = delivery
    delivery.state = 'sending'
    this.#sending++
    const started = performance.now()
    try {
      const answer = await fetch(hook.url, {
        method: 'POST',
        redirect: 'manual',
        signal: AbortSignal.timeout(10_000),
        headers: {
          'content-type': 'application/json',
          'user-agent': 'GitHub-Hookshot/0000000',
          'x-github-delivery': delivery.guid,
          'x-github-event': delivery.event,
          'x-github-hook-id': String(hook.id),
          'x-github-hook-installation-target-id': String(hook.target === 'app' ? this.#app() : hook.target.repository),
          'x-github-hook-installation-target-type': hook.target === 'app' ? 'integration' : 'repository',
          'x-hub-signature-256': signature(delivery.body, hook.secret),
        },
        body: delivery.body,
      })
      delivery.status = answer.status
      delivery.response = await answer.text()
      delivery.state = answer.ok ? 'delivered' : 'failed'
    } catch (error) {
      delivery.state = 'failed'
      delivery.response = String(error)
    } finally {
      delivery.milliseconds = performance.now() - started
      this.#sending--
      this.#world.changed()
    }
  }
}

function wants(hook: Hook, event: Event, installation: Installation | null): boolean {
  if (hook.target !== 'app' && hook.target.repository !== event.repository?.id) return false
  if (hook.target === 'app' && !installation && event.name !== 'installation') return false
  return hook.events.includes('*') || hook.events.includes(event.name)
}

/** GitHub's `hook-delivery-item`. */
export const deliveryItem = (delivery: Delivery) => ({
  id: delivery.id,
  guid: delivery.guid,
  delivered_at: iso(delivery.at),
  redelivery: delivery.redelivery,
  duration: Math.round(delivery.milliseconds) / 1000,
  status: delivery.status === 0 ? 'timed out' : delivery.status < 300 ? 'OK' : 'Invalid HTTP Response',
  status_code: delivery.status,
  event: delivery.event,
  action: delivery.action,
  installation_id: delivery.installationId,
  repository_id: delivery.repositoryId,
})
