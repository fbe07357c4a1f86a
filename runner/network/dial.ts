import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { addressText, bareHost, parseAddress, type Target } from '../../policy/decision/index.ts'

/**
 * A TCP connection to one of these addresses, tried in their order; each gets its share of the time that is left. No name
 * is ever looked up here. Throws what the last attempt threw.
 */
export async function dial(addresses: readonly string[], port: number, until: number, signal: AbortSignal) {
  let last: unknown = new Error('no address')
  for (const [index, address] of addresses.entries()) {
    const share = Math.max(1, (until - Date.now()) / (addresses.length - index))
    try {
      return await attempt(address, port, share, signal)
    } catch (error) {
      last = error
      if (signal.aborted) break
    }
  }
  throw last
}

async function attempt(address: string, port: number, milliseconds: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: address, port, noDelay: true, keepAlive: true, autoSelectFamily: false })
  const timer = setTimeout(() => socket.destroy(coded('ETIMEDOUT')), milliseconds)
  try {
    await settled(socket, 'connect', signal)
    const reached = parseAddress(socket.remoteAddress ?? '')
    if (reached !== null && addressText(reached) === address) return socket
    throw coded('EADDRNOTPINNED')
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** TLS over a connection, verified against the target's name or address; no session is ever resumed. */
export async function secure(
  socket: Socket,
  { host }: Target,
  secureContext: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const bare = bareHost(host)
  const secured = connectTls({
    socket,
    host: bare,
    ...(parseAddress(bare) === null ? { servername: bare } : {}),
    secureContext,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
  })
  try {
    await settled(secured, 'secureConnect', signal)
    if (secured.authorized) return secured
    throw coded('ERR_TLS_NOT_AUTHORIZED')
  } catch (error) {
    secured.destroy()
    socket.destroy()
    throw error
  }
}

/** Waits for a socket's event; its error, its end and the signal reject. */
async function settled(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  const listening = new AbortController()
  const ended = () => listening.abort()
  socket.once('close', ended)
  try {
    await once(socket, event, { signal: AbortSignal.any([signal, listening.signal]) })
  } catch (error) {
    if (listening.signal.aborted) throw socket.errored ?? coded('ECONNRESET')
    throw error
  } finally {
    socket.off('close', ended)
    // An error after this wait is undici's to hear; between the two nobody listens, and an unheard one ends the process.
    socket.on('error', ignore)
  }
}

function ignore(): void {}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code })
}
