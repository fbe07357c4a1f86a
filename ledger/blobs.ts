import { sha256 as hasher } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { type Digest, sha256 } from '../policy/canonical.ts'
import type { Json } from '../policy/json.ts'
import type { Context } from './context.ts'
import { type BlobRef, blobPartBytes, type Payload } from './payload.ts'
import { LedgerError } from './port.ts'
import { Cells } from './sql/cells.ts'

/** Most bytes of one blob, and of all blobs that one run may upload. */
export const blobLimitBytes = 64 * 1024 * 1024
export const runQuotaBytes = 512 * 1024 * 1024

/**
 * Stores a part; the last missing one makes the blob complete, if the whole has its digest. Until then the parts are the
 * run's own: no other run can spoil them, nor the size that it names.
 */
export function putPart(
  context: Context,
  sha256: Digest,
  part: number,
  totalBytes: number,
  bytes: Uint8Array,
  run?: string,
): { complete: boolean } {
  checkPart(sha256, part, totalBytes, bytes)
  return context.sql.transaction(() => {
    if (touch(context, sha256)) return { complete: true }
    const upload = `${sha256} of ${run ?? ''}`
    begin(context, upload, totalBytes, run ?? null)
    writePart(context, upload, part, bytes)
    const [row] = context.sql.all('SELECT count(*) FROM blob_parts WHERE sha256 = ?', upload)
    if (row === undefined || new Cells(row).int() < partCount(totalBytes)) return { complete: false }
    complete(context, sha256, upload)
    return { complete: true }
  })
}

/** Stores bytes in one go. */
export function put(context: Context, bytes: Uint8Array): BlobRef {
  const ref = { sha256: sha256(bytes), bytes: bytes.byteLength }
  context.sql.transaction(() => putWithin(context, ref, bytes))
  return ref
}

/** Stores bytes in the caller's transaction, for a run. */
export function keep(context: Context, bytes: Uint8Array, run: string): BlobRef {
  const ref = { sha256: sha256(bytes), bytes: bytes.byteLength }
  putWithin(context, ref, bytes)
  refer(context, ref, run)
  return ref
}

function putWithin(context: Context, ref: BlobRef, bytes: Uint8Array): void {
  if (touch(context, ref.sha256)) return
  begin(context, ref.sha256, ref.bytes, null)
  for (let part = 0; part < partCount(ref.bytes); part += 1) {
    writePart(context, ref.sha256, part, bytes.subarray(part * blobPartBytes, (part + 1) * blobPartBytes))
  }
  context.sql.run('UPDATE blobs SET complete = 1 WHERE sha256 = ?', ref.sha256)
}

/** Part of a complete blob. */
export function getPart(context: Context, sha256: Digest, part: number): Uint8Array | null {
  const [row] = context.sql.all(
    'SELECT p.data FROM blob_parts p JOIN blobs b ON b.sha256 = p.sha256 AND b.complete = 1 WHERE p.sha256 = ? AND p.part = ?',
    sha256,
    part,
  )
  return row === undefined ? null : new Cells(row).bytesOrNull()
}

/** All bytes of a complete blob. Throws corrupt where they do not have its digest. */
export function get(context: Context, sha256: Digest): Uint8Array | null {
  const [row] = context.sql.all('SELECT bytes FROM blobs WHERE sha256 = ? AND complete = 1', sha256)
  if (row === undefined) return null
  const total = new Cells(row).int()
  const bytes = new Uint8Array(total)
  for (let part = 0; part < partCount(total); part += 1) {
    const data = getPart(context, sha256, part)
    if (data !== null && part * blobPartBytes + data.byteLength <= total) bytes.set(data, part * blobPartBytes)
  }
  if (bytesToHex(hasher(bytes)) !== sha256) {
    throw new LedgerError('corrupt', `Blob ${sha256} no longer has its digest. Restore a backup or an export.`)
  }
  return bytes
}

/** Ties a blob to a run, so that `sweep` keeps it. Throws invalid where it is unknown, incomplete or of another size. */
export function refer(context: Context, ref: BlobRef, run: string): void {
  const [row] = context.sql.all('SELECT bytes FROM blobs WHERE sha256 = ? AND complete = 1', ref.sha256)
  if (row === undefined || new Cells(row).int() !== ref.bytes) {
    throw new LedgerError('invalid', `Blob ${ref.sha256} of ${ref.bytes} bytes is not in the ledger; upload it first.`)
  }
  context.sql.run('INSERT INTO blob_refs (sha256, run) VALUES (?, ?) ON CONFLICT DO NOTHING', ref.sha256, run)
}

/** The value that a payload stands for. Throws corrupt where its blob is gone. */
export function resolve(context: Context, payload: Payload | null): Json {
  if (payload === null) return null
  if (!('blob' in payload)) return payload.inline
  const bytes = get(context, payload.blob.sha256)
  if (bytes === null)
    throw new LedgerError('corrupt', `Blob ${payload.blob.sha256} is missing. Restore a backup or an export.`)
  return JSON.parse(new TextDecoder().decode(bytes)) as Json
}

/** Whether the blob is complete already. Whoever stores it again will refer to it: its day begins anew. */
function touch({ sql, clock }: Context, sha256: Digest): boolean {
  const now = clock.now().toISOString()
  const touched = 'UPDATE blobs SET created_at = ? WHERE sha256 = ? AND complete = 1 RETURNING 1'
  return sql.all(touched, now, sha256).length > 0
}

/** Makes the row of an upload, or finds it. */
function begin(context: Context, upload: string, totalBytes: number, run: string | null): void {
  const { sql } = context
  const [known] = sql.all('SELECT bytes FROM blobs WHERE sha256 = ?', upload)
  if (known !== undefined) {
    const bytes = new Cells(known).int()
    if (bytes === totalBytes) return
    throw new LedgerError(
      'invalid',
      `Blob ${upload} was begun with ${bytes} bytes, not ${totalBytes}; send the same size.`,
    )
  }
  if (run !== null) {
    const [used] = sql.all('SELECT coalesce(sum(bytes), 0) FROM blobs WHERE run = ?', run)
    if (used !== undefined && new Cells(used).int() + totalBytes > runQuotaBytes) {
      throw new LedgerError('invalid', `Run ${run} has used its quota of ${runQuotaBytes} bytes of blobs; store less.`)
    }
  }
  sql.run(
    'INSERT INTO blobs (sha256, bytes, complete, run, created_at) VALUES (?, ?, 0, ?, ?)',
    upload,
    totalBytes,
    run,
    context.clock.now().toISOString(),
  )
}

function writePart(context: Context, upload: string, part: number, bytes: Uint8Array): void {
  context.sql.run(
    'INSERT INTO blob_parts (sha256, part, data) VALUES (?, ?, ?) ON CONFLICT (sha256, part) DO UPDATE SET data = excluded.data',
    upload,
    part,
    bytes,
  )
}

/** An upload becomes the blob. */
function complete(context: Context, sha256: Digest, upload: string): void {
  const { sql } = context
  const hash = hasher.create()
  const [row] = sql.all('SELECT bytes FROM blobs WHERE sha256 = ?', upload)
  const total = row === undefined ? 0 : new Cells(row).int()
  for (let part = 0; part < partCount(total); part += 1) {
    const [data] = sql.all('SELECT data FROM blob_parts WHERE sha256 = ? AND part = ?', upload, part)
    const bytes = data === undefined ? null : new Cells(data).bytesOrNull()
    if (bytes !== null) hash.update(bytes)
  }
  if (bytesToHex(hash.digest()) !== sha256) {
    throw new LedgerError('invalid', `The parts of blob ${sha256} do not have its digest; send them again.`)
  }
  sql.run('UPDATE blob_parts SET sha256 = ? WHERE sha256 = ?', sha256, upload)
  sql.run('UPDATE blobs SET sha256 = ?, complete = 1 WHERE sha256 = ?', sha256, upload)
}

function checkPart(sha256: Digest, part: number, totalBytes: number, bytes: Uint8Array): void {
  const parts = partCount(totalBytes)
  const isInRange = Number.isInteger(part) && part >= 0 && part < parts
  const size = part === parts - 1 ? totalBytes - part * blobPartBytes : blobPartBytes
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new LedgerError('invalid', `${sha256} is no SHA-256 in lower-case hex.`)
  if (!Number.isInteger(totalBytes) || totalBytes < 0 || totalBytes > blobLimitBytes) {
    throw new LedgerError('invalid', `A blob has 0 to ${blobLimitBytes} bytes, not ${totalBytes}.`)
  }
  if (!isInRange || bytes.byteLength !== size) {
    throw new LedgerError(
      'invalid',
      `Part ${part} of a blob of ${totalBytes} bytes does not have ${bytes.byteLength} bytes; parts are ${blobPartBytes} bytes.`,
    )
  }
}

/** An empty blob has one empty part. */
function partCount(totalBytes: number): number {
  return Math.max(1, Math.ceil(totalBytes / blobPartBytes))
}
