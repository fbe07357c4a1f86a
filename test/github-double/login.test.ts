import { createHash } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Stage, stage } from './world.ts'

let scene: Stage

beforeEach(async () => {
  scene = await stage()
})
afterEach(() => scene.github.close())

const post = async (path: string, body: { [name: string]: string }) => {
  const headers = { accept: 'application/json', 'user-agent': 'test' }
  const answer = await fetch(`${scene.github.serverUrl}${path}`, {
    method: 'POST',
    headers,
    body: new URLSearchParams(body),
  })
  return (await answer.json()) as { [name: string]: string }
}
const whoIs = async (token: string | undefined) =>
  (await scene.as(token ?? '').rest.users.getAuthenticated()).data.login

test('the device flow waits for a person and then yields that person’s token', async () => {
  const { app, login, users } = scene.github
  const device = await post('/login/device/code', { client_id: app.clientId })
  const poll = {
    client_id: app.clientId,
    device_code: device['device_code'] ?? '',
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
  }
  expect((await post('/login/oauth/access_token', poll))['error']).toBe('authorization_pending')
  login.approveDevice(device['user_code'] ?? '', users.ensure('bob'))
  const token = (await post('/login/oauth/access_token', poll))['access_token']
  expect(token).toMatch(/^ghu_/)
  expect(await whoIs(token)).toBe('bob')
  expect((await post('/login/oauth/access_token', poll))['error']).toBe('incorrect_device_code')
})

test('the web flow checks state’s way back, secret and PKCE, and a code works once', async () => {
  const { app, login, users, serverUrl } = scene.github
  const verifier = 'v'.repeat(43)
  const query = new URLSearchParams({
    client_id: app.clientId,
    redirect_uri: 'http://127.0.0.1:9/callback',
    state: 's1',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const authorize = async () =>
    (await fetch(`${serverUrl}/login/oauth/authorize?${query}`, { redirect: 'manual' })).headers.get('location')
  expect(await authorize()).toBeNull()
  login.signInAs(users.ensure('carol'))
  const exchange = async (change: { [name: string]: string } = {}) => {
    const back = new URL((await authorize()) ?? '')
    expect([back.origin, back.searchParams.get('state')]).toEqual(['http://127.0.0.1:9', 's1'])
    const body = {
      client_id: app.clientId,
      client_secret: app.clientSecret,
      code: back.searchParams.get('code') ?? '',
      code_verifier: verifier,
      ...change,
    }
    return [await post('/login/oauth/access_token', body), body] as const
  }
  expect((await exchange({ code_verifier: 'wrong' }))[0]['error']).toBe('bad_verification_code')
  expect((await exchange({ client_secret: 'wrong' }))[0]['error']).toBe('incorrect_client_credentials')
  const [granted, body] = await exchange()
  expect(await whoIs(granted['access_token'])).toBe('carol')
  expect((await post('/login/oauth/access_token', body))['error']).toBe('bad_verification_code')
})
