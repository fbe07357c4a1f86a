import { z } from 'zod'
import { sha256 } from '../../policy/canonical.ts'
import type { Clock } from '../../policy/ports.ts'
import type { Config } from '../config.ts'
import { type ProblemError, problem } from '../problem.ts'
import type { PersonClaims } from './claims.ts'

/**
 * Finds the person behind a GitHub user token. `fresh` asks GitHub now; else an answer of the last 60 s may do. `asking` is
 * called before GitHub is asked and may refuse.
 */
export type IdentifyPerson = (token: string, fresh: boolean, asking: () => Promise<void>) => Promise<PersonClaims>

const accountSchema = z.object({ id: z.int(), login: z.string(), type: z.string() })
const checkSchema = z.object({ user: accountSchema, expires_at: z.string().nullable().optional() })

const keepMs = 60_000
const keepAtMost = 10_000
const timeoutMs = 10_000

/** An identifier of people by the tokens of our own App's user authorisation, and personal tokens where configured. */
export function personIdentifier(world: { config: Config; clock: Clock; fetch: typeof globalThis.fetch }) {
  const known = new Map<string, { person: PersonClaims; until: number }>()

  const identify: IdentifyPerson = async (token, fresh, asking) => {
    refuseKind(token, world.config)
    const key = sha256(token)
    const now = world.clock.now().getTime()
    const kept = known.get(key)
    if (!fresh && kept !== undefined && now < kept.until) return kept.person
    known.delete(key)
    await asking()
    const account = isPersonal(token) ? await byPersonalToken(world, token) : await byApplication(world, token, now)
    if (account.type !== 'User') throw problem(403, 'not_a_person', 'only a GitHub user may sign in here')
    const person = { id: account.id, login: account.login }
    if (known.size >= keepAtMost) known.clear()
    known.set(key, { person, until: now + keepMs })
    return person
  }
  return identify
}

const isPersonal = (token: string): boolean => token.startsWith('ghp_') || token.startsWith('github_pat_')

function refuseKind(token: string, config: Config): void {
  if (token.startsWith('ghs_')) {
    throw problem(403, 'not_a_person', 'an installation or job token is no person: sign in as a user')
  }
  if (isPersonal(token) && !config.allowPersonalTokens) {
    throw problem(
      403,
      'personal_token',
      'personal tokens are not accepted here (AGENTCTL_ALLOW_PAT): sign in as a user',
    )
  }
  if (!/^[A-Za-z0-9_]{16,255}$/.test(token)) throw unauthorised()
}

async function byApplication({ config, fetch }: World, token: string, now: number) {
  if (config.client === null) throw unauthorised()
  const response = await ask(fetch, `${config.apiUrl}/applications/${encodeURIComponent(config.client.id)}/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`${config.client.id}:${config.client.secret}`)}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ access_token: token }),
  })
  const { user, expires_at: expires } = shaped(checkSchema, response)
  if (typeof expires === 'string' && Date.parse(expires) <= now) throw unauthorised()
  return user
}

async function byPersonalToken({ config, fetch }: World, token: string) {
  const response = await ask(fetch, `${config.apiUrl}/user`, { headers: { authorization: `Bearer ${token}` } })
  return shaped(accountSchema, response)
}

function shaped<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw unavailable()
}

type World = { config: Config; fetch: typeof globalThis.fetch }

/** GitHub's answer; its no is a 401 of ours, anything else that is not a yes is a 503, never a yes. */
async function ask(fetch: typeof globalThis.fetch, url: string, init: RequestInit): Promise<unknown> {
  const headers = new Headers(init.headers)
  headers.set('accept', 'application/vnd.github+json')
  headers.set('user-agent', 'agentctl')
  headers.set('x-github-api-version', '2022-11-28')
  const options = { ...init, headers, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) } as const
  const response = await fetch(url, options).catch(() => null)
  if (response === null) throw unavailable()
  if ([401, 404, 422].includes(response.status)) throw unauthorised()
  if (!response.ok) throw unavailable()
  return response.json().catch(() => {
    throw unavailable()
  })
}

const unauthorised = (): ProblemError => problem(401, 'unauthorised', 'the token is not valid here: sign in again')
const unavailable = (): ProblemError =>
  problem(503, 'github_unavailable', 'GitHub did not say whose token this is; nothing was allowed: try again', 5)
