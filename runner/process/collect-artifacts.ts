import { closeSync, globSync } from 'node:fs'
import path from 'node:path'
import { sha256 } from '../../policy/canonical.ts'
import type { Redactor } from '../../policy/redact.ts'
import type { ProducedArtifact } from '../executor.ts'
import { isWithin, shownPath } from '../facts/canonical-path.ts'
import { digestOf } from '../facts/digest-cache.ts'
import { protectedBy } from '../facts/protected.ts'
import { openForReading, readAll } from '../facts/read-fact.ts'
import { type Workspace, writableRoots } from '../facts/workspace.ts'

/** Files that a process action's `artifacts` globs match, by canonical workspace path. */
export type ArtifactListing = Map<string, { sha256: string; mode: number }>

export type Collected =
  | { ok: true; artifacts: ProducedArtifact[] }
  | { ok: false; code: 'secret_in_artifact' | 'artifact_limit'; message: string }

/** An effect's list of artifacts stands in one row of the ledger: 64 KiB, each entry with two digests beside its path. */
const maxRecordBytes = 60_000
const recordBytes = 240

/** What matches before the process runs: tells later what it changed or deleted. */
export function listArtifacts(workspace: Workspace, globs: readonly string[]): ArtifactListing {
  const listing: ArtifactListing = new Map()
  eachMatch(workspace, globs, (place, file) => listing.set(place, { sha256: digestOf(file.fd), mode: file.mode }))
  return listing
}

/**
 * What the process left that was not there before, never altered. A file that holds a known secret, or more than
 * `maxBytes` together, is refused whole.
 */
export function collectArtifacts(
  workspace: Workspace,
  globs: readonly string[],
  before: ArtifactListing,
  redactor: Redactor,
  maxBytes: number,
): Collected {
  const artifacts: ProducedArtifact[] = []
  const seen = new Set<string>()
  let total = 0
  let refusal: Collected | null = null
  eachMatch(workspace, globs, (place, file) => {
    seen.add(place)
    if (refusal !== null) return
    const old = before.get(place)
    const bytes = readAll(file.fd, maxBytes - total)
    if (bytes === null) {
      refusal = {
        ok: false,
        code: 'artifact_limit',
        message: `artifacts are larger than ${maxBytes} bytes together, at ${place}; narrow the globs or raise maxArtifactBytes`,
      }
      return
    }
    if (old?.sha256 === sha256(bytes) && old.mode === file.mode) return
    if (isSecretIn(place, redactor) || holdsSecret(bytes, redactor)) {
      refusal = {
        ok: false,
        code: 'secret_in_artifact',
        message: `${place} holds a known secret, or is named by one, and would be kept in the ledger; leave it out of \`artifacts\` or do not write it`,
      }
      return
    }
    total += bytes.length
    artifacts.push({ path: place, mode: file.mode, before: old?.sha256 ?? null, bytes })
  })
  if (refusal !== null) return refusal
  for (const [place, { sha256: digest, mode }] of before)
    if (!seen.has(place) && !isSecretIn(place, redactor))
      artifacts.push({ path: place, mode, before: digest, bytes: null })
  return artifacts.reduce((sum, { path: place }) => sum + place.length + recordBytes, 0) > maxRecordBytes
    ? {
        ok: false,
        code: 'artifact_limit',
        message: `${artifacts.length} artifacts are more than one effect can list; keep them as one archive, or narrow the globs`,
      }
    : { ok: true, artifacts }
}

function eachMatch(
  workspace: Workspace,
  globs: readonly string[],
  use: (place: string, file: { fd: number; mode: number }) => void,
): void {
  const roots = writableRoots(workspace).flatMap(({ real }) => real ?? [])
  const matches = new Set(globs.flatMap(pattern => globSync(pattern, { cwd: workspace.root })))
  const places = [...matches].map(match => path.resolve(workspace.root, match)).sort()
  const used = new Set<string>()
  for (const place of places) {
    let file: ReturnType<typeof openForReading>
    try {
      file = openForReading(workspace, place)
    } catch {
      // A directory, a socket, a link that leads out or a file gone meanwhile: no artifact.
      continue
    }
    try {
      const isKept = roots.some(root => isWithin(root, file.absolute))
      if (!isKept || used.has(file.absolute) || protectedBy(workspace.protection, file.absolute) !== null) continue
      used.add(file.absolute)
      use(shownPath(workspace.root, file.absolute), file)
    } finally {
      closeSync(file.fd)
    }
  }
}

function holdsSecret(bytes: Uint8Array, redactor: Redactor): boolean {
  return isSecretIn(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), redactor)
}

function isSecretIn(text: string, redactor: Redactor): boolean {
  return redactor.text(text) !== text
}
