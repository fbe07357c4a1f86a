import { GuardedError, refusedFault } from './network-fault.ts'

/** Host would name another server than the one that was judged; the others manage the connection, which is the client's own. */
const own: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'te',
  'trailer',
  'upgrade',
  'expect',
])

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const value = /^[\t\x20-\x7e\x80-\xff]*$/

/** Method and headers of a request as they are sent. Refuses by name, never by value, which may be secret. */
export function checkedHeaders(
  origin: string,
  method: string,
  headers: { readonly [name: string]: string },
): { [name: string]: string } {
  if (!/^[A-Z]+$/.test(method) || method === 'CONNECT' || method === 'TRACE')
    throw refused(
      'request_method',
      origin,
      'the method is not one that may be sent',
      'use GET, POST, PUT, PATCH, DELETE',
    )
  const checked: { [name: string]: string } = { 'user-agent': 'agentctl', 'accept-encoding': 'identity' }
  const seen = new Set<string>()
  for (const [written, content] of Object.entries(headers)) {
    if (!token.test(written)) throw refused('request_header', origin, 'a header has no valid name', 'correct its name')
    const name = written.toLowerCase()
    if (own.has(name) || name.startsWith('proxy-'))
      throw refused('request_header', origin, `the header \`${name}\` is the client's own`, 'leave it out')
    if (seen.has(name)) throw refused('request_header', origin, `\`${name}\` is given twice`, 'give it once')
    if (!value.test(content))
      throw refused('request_header', origin, `the value of \`${name}\` holds a control character`, 'correct its value')
    seen.add(name)
    checked[name] = content
  }
  return checked
}

function refused(rule: string, subject: string, detail: string, change: string): GuardedError {
  return new GuardedError(refusedFault({ rule, field: null, subject, detail, change }))
}
