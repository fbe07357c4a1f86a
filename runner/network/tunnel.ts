import type { Socket } from 'node:net'
import type { Target } from '../../policy/decision/index.ts'
import { originOfTarget } from '../../policy/decision/index.ts'
import { GuardedError, networkFault } from './network-fault.ts'
import type { RunnerProxy } from './proxy.ts'

const headBytesMax = 8_192

/**
 * Asks a proxy for a tunnel to an address, never to a name: what the proxy connects to is what was checked. After it
 * the socket is the target's. Rejects with a GuardedError that tells the proxy's status and nothing else of its answer.
 */
export async function openTunnel(
  socket: Socket,
  proxy: RunnerProxy,
  address: string,
  port: number,
  signal: AbortSignal,
) {
  const authority = `${address.includes(':') ? `[${address}]` : address}:${port}`
  const authorization = proxy.authorization === null ? '' : `Proxy-Authorization: ${proxy.authorization}\r\n`
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`)
  const head = await readHead(socket, signal)
  const status = /^HTTP\/1\.[01] ([0-9]{3})/.exec(head)?.[1] ?? 'no status'
  if (status === '200') return
  socket.destroy()
  throw tunnelFault(proxy.target, status)
}

function tunnelFault(proxy: Target, status: string): GuardedError {
  const message = `the proxy ${originOfTarget(proxy)}: it gave no tunnel (${status}); correct the runner's proxy variables or the proxy's own rules`
  return new GuardedError(networkFault('proxy', status, message))
}

/** The answer's head. Bytes beyond it are a fault: in HTTP and in TLS the client speaks first. */
async function readHead(socket: Socket, signal: AbortSignal): Promise<string> {
  let head = ''
  const stop = () => socket.destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    while (!head.includes('\r\n\r\n')) {
      const part: Buffer | null = socket.read()
      if (part === null) await readable(socket)
      else head += part.toString('latin1')
      if (head.length > headBytesMax) throw coded('UND_ERR_HEADERS_OVERFLOW')
    }
    if (!head.endsWith('\r\n\r\n') || head.indexOf('\r\n\r\n') !== head.length - 4) throw coded('HPE_UNEXPECTED')
    return head
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function readable(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error) => {
      socket.off('readable', onReadable).off('close', onClose)
      if (error === undefined) resolve()
      else reject(error)
    }
    const onReadable = () => done(socket.readableEnded ? coded('ECONNRESET') : undefined)
    const onClose = () => done(socket.errored ?? coded('ECONNRESET'))
    socket.once('readable', onReadable).once('close', onClose)
    if (socket.destroyed) onClose()
  })
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code })
}
