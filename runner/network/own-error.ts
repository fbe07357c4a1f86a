/**
 * Why one of agentctl's own calls did not give an answer. The message names method and origin, never path, query, header
 * or body: those may carry a token.
 * - not_own: the URL is not at one of the configured origins;
 * - insecure: `http:` away from loopback, or credentials in the URL;
 * - redirect: the server answered with a redirect;
 * - too_large, timeout: a bound was reached;
 * - tls: the server's certificate was not accepted;
 * - proxy: the runner's proxy refused or is misconfigured;
 * - unreachable: no connection, or it broke before the answer was complete;
 * - aborted: the caller's own signal.
 */
export class OwnCallError extends Error {
  override readonly name = 'OwnCallError'
  readonly code: OwnCallErrorCode
  /** Whether the same call may come through later: only faults of the connection and of time. */
  readonly retryable: boolean
  constructor(code: OwnCallErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.retryable = code === 'unreachable' || code === 'timeout'
  }
}

export type OwnCallErrorCode =
  | 'not_own'
  | 'insecure'
  | 'redirect'
  | 'too_large'
  | 'timeout'
  | 'tls'
  | 'proxy'
  | 'unreachable'
  | 'aborted'

const certificateCodes = /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH)/

/** Names what undici threw, by its code alone: its messages may repeat URLs and proxy credentials. */
export function connectionFault(call: string, thrown: unknown): OwnCallError {
  const { code, message } = innermost(thrown)
  if (certificateCodes.test(code))
    return new OwnCallError(
      'tls',
      `${call}: the server's certificate was not accepted (${code}); add its authority to the system's store or to NODE_EXTRA_CA_CERTS on the runner`,
    )
  if (message === 'bad port')
    return new OwnCallError('not_own', `${call}: this port is one that the fetch standard blocks; serve it on another`)
  const tunnel = /^Proxy response \((\d{3})\)/.exec(message)
  if (tunnel !== null)
    return new OwnCallError(
      'proxy',
      `${call}: the runner's proxy answered ${tunnel[1]}; correct https_proxy or add the host to no_proxy`,
    )
  return new OwnCallError(
    'unreachable',
    `${call}: no answer (${code}); check that the host is up and that the runner may reach it`,
  )
}

function innermost(thrown: unknown): { code: string; message: string } {
  let current = thrown
  for (let depth = 0; depth < 8 && current instanceof Error && current.cause instanceof Error; depth++)
    current = current.cause
  if (!(current instanceof Error)) return { code: 'unknown', message: '' }
  const own = 'code' in current && typeof current.code === 'string' ? current.code : ''
  const first = current instanceof AggregateError ? innermost(current.errors[0]).code : ''
  return { code: own || first || current.name, message: current.message }
}
