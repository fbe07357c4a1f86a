import { expect } from 'vitest'
import { type AttachAnswer, attachAnswerSchema } from '../../ledger/wire.ts'
import type { OpenJob } from './jobs.ts'

export interface Reply {
  status: number
  headers: Headers
  /** Parsed where it is JSON, else the text. */
  body: unknown
}

/** Requests to one control plane. */
export class Client {
  readonly url: string
  constructor(url: string) {
    this.url = url
  }

  async send(
    method: string,
    path: string,
    options: {
      token?: string
      json?: unknown
      bytes?: Uint8Array<ArrayBuffer>
      headers?: { [name: string]: string }
    } = {},
  ): Promise<Reply> {
    const headers = new Headers(options.headers)
    if (options.token !== undefined) headers.set('authorization', `Bearer ${options.token}`)
    if (options.json !== undefined) headers.set('content-type', 'application/json')
    const body = options.bytes ?? (options.json === undefined ? null : JSON.stringify(options.json))
    const response = await fetch(`${this.url}${path}`, { method, headers, body, redirect: 'manual' })
    const text = await response.text()
    const isJson = /[/+]json(;|$)/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

  get = (path: string, token?: string) => this.send('GET', path, token === undefined ? {} : { token })
  post = (path: string, token: string, json: unknown) => this.send('POST', path, { token, json })

  /** Attaches an open job, which must be let in. */
  async attach(job: OpenJob, change: object = {}): Promise<AttachAnswer & { token: string }> {
    const reply = await this.tryAttach(job, change)
    expect(reply).toMatchObject({ status: 200 })
    const answer = attachAnswerSchema.parse(reply.body)
    return { ...answer, token: answer.lease?.token ?? '' }
  }

  async tryAttach(job: OpenJob, change: object = {}, token?: string): Promise<Reply> {
    return this.post('/v1/attach', token ?? (await job.oidc(this.url)), { ...job.request, ...change })
  }
}
