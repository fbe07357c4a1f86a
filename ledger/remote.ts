import type { z } from 'zod'
import type { Digest } from '../policy/canonical.ts'
import { sha256 } from '../policy/canonical.ts'
import { blobPartBytes } from './payload.ts'
import type { Batch, BlobRef, Ledger, LongTermItem, Receipt, RunSnapshot } from './port.ts'
import { LedgerError } from './port.ts'
import { type CallContext, call, json } from './remote-call.ts'
import { commandsLimitBytes, withinCap } from './remote-fit.ts'
import { runSnapshotSchema } from './remote-snapshot.ts'
import { type commandsRequestSchema, longTermAnswerSchema, receiptSchema } from './wire.ts'

type CommandsRequest = z.infer<typeof commandsRequestSchema>

export interface RemoteLedgerOptions extends CallContext {
  /** The control plane, `https://HOST`. */
  origin: string
  owner: string
  repo: string
  run: string
  /** Lease token of the attach; replaced by what the receipts bring. */
  token: string
}

/** The port, and the lease token as it stands: what follows a pause is authorised by it too. */
export interface RemoteLedger extends Ledger {
  token(): string
}

/** Parts of one blob in flight at a time. */
const partsAtOnce = 4

/**
 * The Ledger port over HTTP (wire.ts). A batch is one request and safe to repeat, since the ledger knows its command ids.
 * Faults that may pass are retried within `budgetMs`, then a LedgerError `unreachable` says what to do.
 */
export function remoteLedger(options: RemoteLedgerOptions): RemoteLedger {
  const { origin, owner, repo, run } = options
  const stop = new AbortController()
  const context: CallContext = {
    ...options,
    signal: options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]),
  }
  const base = `${origin}/v1/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}`
  let token = options.token
  const authorization = () => `Bearer ${token}`

  async function apply(batch: Batch): Promise<Receipt> {
    const doing = 'applying a batch to the ledger'
    const spare = JSON.stringify({ epoch: batch.epoch, commands: [] }).length
    const commands = await withinCap(batch.commands, spare, putBlob)
    const body = jsonBody({ epoch: batch.epoch, commands } satisfies CommandsRequest)
    if (body.bytes.length > commandsLimitBytes)
      throw new LedgerError('invalid', `${doing}: ${body.bytes.length} bytes exceed ${commandsLimitBytes}`)
    const url = `${base}/runs/${encodeURIComponent(batch.run)}/commands`
    const response = await call(context, { method: 'POST', url, authorization, body, doing })
    const { token: replacement, ...receipt } = await json(response, receiptSchema, doing)
    token = replacement ?? token
    return receipt
  }

  async function snapshot(of: string): Promise<RunSnapshot | null> {
    const doing = 'reading the run from the ledger'
    const url = `${base}/runs/${encodeURIComponent(of)}/snapshot`
    const response = await call(context, { method: 'GET', url, authorization, doing }, [404])
    return response.status === 404 ? null : json(response, runSnapshotSchema, doing)
  }

  async function memory(asked: { [name: string]: string }): Promise<LongTermItem[]> {
    const doing = 'reading the long-term memory'
    const url = `${base}/runs/${encodeURIComponent(run)}/memory?${new URLSearchParams(asked)}`
    const response = await call(context, { method: 'GET', url, authorization, doing })
    return (await json(response, longTermAnswerSchema, doing)).items
  }

  async function putBlob(bytes: Uint8Array): Promise<BlobRef> {
    const ref = { sha256: sha256(bytes), bytes: bytes.length }
    const parts = Math.max(1, Math.ceil(bytes.length / blobPartBytes))
    const put = async (part: number) => {
      const chunk = new Uint8Array(bytes.subarray(part * blobPartBytes, (part + 1) * blobPartBytes))
      const url = `${base}/blobs/${ref.sha256}/${part}?bytes=${ref.bytes}`
      const body = { type: 'application/octet-stream', bytes: chunk }
      await call(context, { method: 'PUT', url, authorization, body, doing: 'storing a blob in the ledger' })
    }
    for (let first = 0; first < parts; first += partsAtOnce)
      await Promise.all(Array.from({ length: Math.min(partsAtOnce, parts - first) }, (_, index) => put(first + index)))
    return ref
  }

  async function getBlob(wanted: Digest): Promise<Uint8Array | null> {
    const doing = 'reading a blob from the ledger'
    const parts: Uint8Array[] = []
    // Its size is not known here: a part shorter than the others, or a missing one, is the end.
    for (let last = blobPartBytes; last === blobPartBytes; ) {
      const url = `${base}/blobs/${wanted}/${parts.length}`
      const response = await call(context, { method: 'GET', url, authorization, doing }, [404])
      if (response.status === 404) {
        if (parts.length === 0) return null
        break
      }
      const part = new Uint8Array(await response.arrayBuffer())
      parts.push(part)
      last = part.length
    }
    const bytes = Buffer.concat(parts)
    if (sha256(bytes) !== wanted)
      throw new LedgerError('corrupt', `${doing}: its content is not ${wanted}; restore the ledger of run ${run}`)
    return bytes
  }

  return {
    apply,
    snapshot,
    putBlob,
    getBlob,
    longTerm: {
      read: async (namespace, key) => (await memory({ namespace, key }))[0] ?? null,
      search: (namespace, query, limit) => memory({ namespace, query, limit: String(limit) }),
    },
    token: () => token,
    close: async () => stop.abort(),
  }
}

function jsonBody(value: unknown): { type: string; bytes: Uint8Array<ArrayBuffer> } {
  return { type: 'application/json', bytes: new TextEncoder().encode(JSON.stringify(value)) }
}
