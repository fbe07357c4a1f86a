import { CliError } from './failure.ts'

/** Refuses a Node that lacks what agentctl builds on, `v20.1.0` for example. Throws CliError, exit 2. */
export function requireNode(version: string): void {
  if (Number(/^v(\d+)\./.exec(version)?.[1]) >= 24) return
  throw new CliError('unsupported_node', `agentctl needs Node 24 or later; this is ${version}`, {
    help: 'put Node 24 first on PATH; the npm scripts of a checkout do so themselves',
  })
}
