import { type Digest, sha256 } from '../canonical.ts'

/**
 * HTML comments by which we find our own issues and comments again. Only the first line of a text can be a marker, so
 * nothing that is shown further down can forge one; who wrote the text is for the caller to check.
 */
const kinds = ['pause', 'status', 'reply'] as const
export type MarkerKind = (typeof kinds)[number]

/** First line of an issue (`pause`), of its one status comment (`status`, by pause) or of a reply (`reply`, by comment id). */
export function marker(kind: MarkerKind, id: string | number): string {
  return `<!-- agentctl:${kind}=${id} -->`
}

/** Id of the marker on the first line, null where there is none of that kind. */
export function markerOf(kind: MarkerKind, body: string): string | null {
  const end = body.search(/[\r\n]/)
  const line = (end < 0 ? body : body.slice(0, end)).trim()
  const start = `<!-- agentctl:${kind}=`
  if (!line.startsWith(start) || !line.endsWith(' -->')) return null
  const id = line.slice(start.length, -' -->'.length)
  return /^[\w-]{1,64}$/.test(id) ? id : null
}

/** Digest of a body as GitHub may give it back: line ends normalised. */
export function bodyDigest(body: string): Digest {
  return sha256(body.replaceAll('\r\n', '\n').replaceAll('\r', '\n'))
}

/** A run's page for people: on the web host, never the API host; the same form on github.com, ghe.com and GHES. */
export function webRunUrl(of: {
  serverUrl: string
  owner: string
  name: string
  workflowRunId: number
  attempt?: number
}): string {
  const server = of.serverUrl.endsWith('/') ? of.serverUrl.slice(0, -1) : of.serverUrl
  const repository = `${encodeURIComponent(of.owner)}/${encodeURIComponent(of.name)}`
  const attempt = of.attempt === undefined ? '' : `/attempts/${of.attempt}`
  return `${server}/${repository}/actions/runs/${of.workflowRunId}${attempt}`
}
