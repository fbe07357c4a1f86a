import { type Config, parseConfig } from '../../control-plane/config.ts'

/** The least environment that a control plane starts with. */
export const leastEnvironment: { readonly [name: string]: string } = {
  AGENTCTL_PUBLIC_URL: 'https://agentctl.example.dev',
  GITHUB_WEBHOOK_SECRETS: 'first,second',
  GITHUB_TOKEN: 'token-of-one-owner',
  AGENTCTL_SESSION_KEY: 'a1'.repeat(32),
}

/** A configuration with these variables over the least ones. */
export const configWith = (environment: { readonly [name: string]: string } = {}): Config =>
  parseConfig({ ...leastEnvironment, ...environment })

/** A clock that a test sets. */
export class SetClock {
  #now: number
  constructor(start = '2026-05-04T10:00:00.000Z') {
    this.#now = Date.parse(start)
  }
  now = (): Date => new Date(this.#now)
  advance(seconds: number): void {
    this.#now += seconds * 1000
  }
}
