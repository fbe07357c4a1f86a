import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type IdentifyPerson, personIdentifier } from '../../control-plane/auth/user-token.ts'
import type { ProblemError } from '../../control-plane/problem.ts'
import { configWith, SetClock } from './settings.ts'

const userToken = `ghu_${'u'.repeat(36)}`
const personal = `ghp_${'p'.repeat(36)}`
const client = { GITHUB_APP_CLIENT_ID: 'Iv1.client', GITHUB_APP_CLIENT_SECRET: 'hush' }
const alice = { id: 41, login: 'alice', type: 'User' }

let server: Server
let apiUrl: string
let clock: SetClock
let asked: { path: string; authorization: string; body: string }[]
let reply: { status: number; body: unknown }

beforeEach(async () => {
  asked = []
  clock = new SetClock()
  reply = { status: 200, body: { user: alice, expires_at: '2026-05-04T18:00:00Z' } }
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    asked.push({ path: request.url ?? '', authorization: request.headers.authorization ?? '', body })
    response.writeHead(reply.status, { location: '/elsewhere' }).end(JSON.stringify(reply.body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  apiUrl = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
})
afterEach(async () => {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
})

const nothing = async () => {}
const identifier = (environment: { [name: string]: string } = client): IdentifyPerson =>
  personIdentifier({ config: configWith({ GITHUB_API_URL: apiUrl, ...environment }), clock, fetch })

const refusalOf = (identified: Promise<unknown>) =>
  identified.then(
    () => null,
    (error: ProblemError) => error.refusal,
  )

describe('the token of a person', () => {
  it('is checked with the App that it must be of', async () => {
    expect(await identifier()(userToken, false, nothing)).toEqual({ id: 41, login: 'alice' })
    expect(asked).toEqual([
      {
        path: '/applications/Iv1.client/token',
        authorization: `Basic ${btoa('Iv1.client:hush')}`,
        body: JSON.stringify({ access_token: userToken }),
      },
    ])
  })

  it('is known for 60 s, and asked about again after that or where it must be fresh', async () => {
    const identify = identifier()
    await identify(userToken, false, nothing)
    clock.advance(59)
    await identify(userToken, false, nothing)
    expect(asked).toHaveLength(1)
    await identify(userToken, true, nothing)
    expect(asked).toHaveLength(2)
    clock.advance(61)
    await identify(userToken, false, nothing)
    expect(asked).toHaveLength(3)
  })

  it('is forgotten as soon as GitHub no longer knows it', async () => {
    const identify = identifier()
    await identify(userToken, false, nothing)
    reply = { status: 404, body: {} }
    expect(await refusalOf(identify(userToken, true, nothing))).toMatchObject({ status: 401 })
    expect(await refusalOf(identify(userToken, false, nothing))).toMatchObject({ status: 401 })
  })

  const answers: [what: string, status: number, body: unknown, refusal: number][] = [
    ['unknown to GitHub', 404, {}, 401],
    ['refused as malformed', 422, {}, 401],
    ['of a bot', 200, { user: { ...alice, type: 'Bot' } }, 403],
    ['of an organisation', 200, { user: { ...alice, type: 'Organization' } }, 403],
    ['expired', 200, { user: alice, expires_at: '2026-05-04T09:59:59Z' }, 401],
    ['met by an error of GitHub', 500, {}, 503],
    ['met by a rate limit', 403, {}, 503],
    ['met by a redirect', 302, {}, 503],
  ]
  it.each(answers)('is no yes when it is %s', async (_what, status, body, refusal) => {
    reply = { status, body }
    expect(await refusalOf(identifier()(userToken, false, nothing))).toMatchObject({ status: refusal })
  })

  it('is no yes when GitHub answers another shape or not at all', async () => {
    reply = { status: 200, body: { login: 'alice' } }
    expect(await refusalOf(identifier()(userToken, false, nothing))).toMatchObject({ status: 503 })
    const away = identifier({ ...client, GITHUB_API_URL: 'http://127.0.0.1:1' })
    expect(await refusalOf(away(userToken, false, nothing))).toMatchObject({ status: 503 })
  })

  it('is never a job’s or an installation’s, and GitHub is not even asked', async () => {
    expect(await refusalOf(identifier()(`ghs_${'s'.repeat(36)}`, false, nothing))).toMatchObject({
      status: 403,
      code: 'not_a_person',
    })
    for (const odd of ['short', 'with space in it, long enough', 'ey.token.ofthreeparts', `ghu_${'x'.repeat(300)}`]) {
      expect(await refusalOf(identifier()(odd, false, nothing))).toMatchObject({ status: 401 })
    }
    expect(asked).toEqual([])
  })

  it('may be personal only where that is configured', async () => {
    expect(await refusalOf(identifier()(personal, false, nothing))).toMatchObject({
      status: 403,
      code: 'personal_token',
    })
    reply = { status: 200, body: alice }
    const identify = identifier({ ...client, AGENTCTL_ALLOW_PAT: 'true' })
    expect(await identify(personal, false, nothing)).toEqual({ id: 41, login: 'alice' })
    expect(asked).toMatchObject([{ path: '/user', authorization: `Bearer ${personal}` }])
  })

  it('is nobody’s where no client is configured', async () => {
    expect(await refusalOf(identifier({})(userToken, false, nothing))).toMatchObject({ status: 401 })
    expect(asked).toEqual([])
  })

  it('counts against the address only when GitHub is asked', async () => {
    let asking = 0
    const identify = identifier()
    const count = async () => {
      asking += 1
    }
    await identify(userToken, false, count)
    await identify(userToken, false, count)
    await refusalOf(identify('short', false, count))
    expect(asking).toBe(1)
  })
})
