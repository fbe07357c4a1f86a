import type { NetworkRefusal } from '../../policy/decision/index.ts'

/**
 * Why a guarded request did not give a complete answer:
 * - refused: a rule of the policy, before anything was connected;
 * - redirect: the server answered with a redirect, which is never followed;
 * - dns, connect, tls, proxy: no connection that may be used came about;
 * - too_large: the response passed `maxResponseBytes`, its headers 16 KiB;
 * - protocol: what the server sent is no response, or the request cannot be sent as HTTP;
 * - broken: the connection ended before the response was complete;
 * - deadline, cancelled: the caller's total deadline, the caller's signal.
 */
export type NetworkFaultCode =
  | 'refused'
  | 'redirect'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'proxy'
  | 'too_large'
  | 'protocol'
  | 'broken'
  | 'deadline'
  | 'cancelled'

export interface NetworkFault {
  code: NetworkFaultCode
  /** The rule that refused, `networkAllowlist`; for other faults the code that the system gave, `ECONNREFUSED`. */
  rule: string
  /** Names rule, subject (an origin) and remedy; never path, query, header or body. */
  message: string
  /** What a run that ends with it exits with: 3 for a denial, 130 where it was cancelled, 6 for everything else. */
  exitCode: 3 | 6 | 130
  /** Whether the server may have received the request: then what it asked for may have happened. */
  dispatched: boolean
}

/** A fault as an exception: inside this room, and for who reads a streamed body. */
export class GuardedError extends Error {
  override readonly name = 'GuardedError'
  readonly fault: NetworkFault
  constructor(fault: NetworkFault) {
    super(fault.message)
    this.fault = fault
  }
}

/** A fault with the exit code that its kind has. */
export function networkFault(code: NetworkFaultCode, rule: string, message: string, dispatched = false): NetworkFault {
  const denial = code === 'refused' || code === 'redirect'
  return { code, rule, message, exitCode: denial ? 3 : code === 'cancelled' ? 130 : 6, dispatched }
}

/** A rule's refusal in the words of a decision. */
export function refusedFault({ rule, field, subject, detail, change }: NetworkRefusal): NetworkFault {
  const remedy = field === null ? change : `${change} in spec.policy.${field}, if that is meant`
  return networkFault('refused', rule, `${rule} refuses ${subject}: ${detail}; ${remedy}`)
}

const certificateCodes =
  /^(CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|PATH_LENGTH_)/

/** A connection that did not come about, by the code of what was thrown alone: messages may repeat more. */
export function connectionFault(subject: string, thrown: unknown): NetworkFault {
  if (thrown instanceof GuardedError) return thrown.fault
  const code = codeOf(thrown)
  if (certificateCodes.test(code)) {
    const remedy = 'correct the certificate, or name its authority in network.customCa'
    return networkFault('tls', code, `${subject}: the server's certificate was not accepted (${code}); ${remedy}`)
  }
  const remedy = 'check that the host is up and that the runner may reach it'
  return networkFault('connect', code, `${subject}: no connection (${code}); ${remedy}`)
}

const protocolCodes = /^(HPE_|UND_ERR_(INVALID_ARG|HEADERS|RES_|REQ_|RESPONSE|NOT_SUPPORTED)|Z_|ERR_INVALID_)/

/** What went wrong once a connection stood. */
export function exchangeFault(subject: string, thrown: unknown, dispatched: boolean): NetworkFault {
  if (thrown instanceof GuardedError) return { ...thrown.fault, dispatched: thrown.fault.dispatched || dispatched }
  const code = codeOf(thrown)
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW') {
    const remedy = 'nothing in the policy raises this bound; ask the server for less'
    const message = `${subject}: the headers of the response are larger than 16 KiB; ${remedy}`
    return networkFault('too_large', 'response_headers', message, dispatched)
  }
  if (protocolCodes.test(code)) {
    const message = `${subject}: what was exchanged is not valid HTTP (${code}); correct the request or the server`
    return networkFault('protocol', code, message, dispatched)
  }
  const outcome = dispatched ? 'what the request asked for may have happened' : 'the request was not sent'
  const message = `${subject}: the connection broke (${code}); ${outcome}; check the server before a repeat`
  return networkFault('broken', code, message, dispatched)
}

function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown'
  return 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : thrown.name
}
