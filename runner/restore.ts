import type { Artifact } from '../ledger/commands.ts'
import type { EffectRecord, Ledger } from '../ledger/port.ts'
import { replaceFile } from './facts/replace-file.ts'
import type { Workspace } from './facts/workspace.ts'
import { closeWritePlace, type WritePlace, writeFact } from './facts/write-fact.ts'

export type Restored =
  | { ok: true; paths: string[] }
  | { ok: false; code: 'workspace_diverged' | 'artifact_missing' | 'restore_failed'; message: string }

/** One path's history over the confirmed effects, in plan order. */
interface History {
  first: Artifact
  last: Artifact
  afters: Set<string | null>
}

/**
 * Puts the files of confirmed effects into this workspace, each path as its last effect left it. A file that is neither
 * what the first effect found nor what any effect left is somebody else's: nothing is overwritten and the run stops.
 */
export async function restoreArtifacts(
  workspace: Workspace,
  effects: readonly EffectRecord[],
  ledger: Pick<Ledger, 'getBlob'>,
): Promise<Restored> {
  const histories = historiesOf(effects)
  // All are looked at before any is written: a workspace that has diverged is left as it is.
  for (const [path, history] of histories) {
    const checked = check(workspace, path, history)
    if (!checked.ok) return checked
  }
  const paths: string[] = []
  for (const [path, history] of histories) {
    const restored = await restore(workspace, path, history, ledger)
    if (!restored.ok) return restored
    paths.push(...restored.paths)
  }
  return { ok: true, paths }
}

function historiesOf(effects: readonly EffectRecord[]): Map<string, History> {
  const histories = new Map<string, History>()
  for (const effect of effects) {
    if (!wasDone(effect)) continue
    for (const artifact of effect.artifacts) {
      const after = artifact.blob?.sha256 ?? null
      const history = histories.get(artifact.path)
      if (history === undefined)
        histories.set(artifact.path, { first: artifact, last: artifact, afters: new Set([after]) })
      else {
        history.last = artifact
        history.afters.add(after)
      }
    }
  }
  return histories
}

/** What was undone later was done all the same: its files stood there for what undid it. */
function wasDone({ state, error }: EffectRecord): boolean {
  return state === 'succeeded' || (state === 'failed' && error?.code === 'compensated')
}

function check(workspace: Workspace, path: string, history: History): Restored {
  const { fact, place } = writeFact(workspace, path)
  if (place === null)
    return failed(
      'workspace_diverged',
      `${path} cannot be restored: ${fact.known ? 'no place' : fact.detail}; resume in a fresh checkout`,
    )
  try {
    const current = place.fact.before?.sha256 ?? null
    if (place.fact.root === null || place.fact.protectedBy !== null)
      return failed('workspace_diverged', `${path} lies under no writable root any more; nothing was restored`)
    if (current === history.first.before || history.afters.has(current)) return { ok: true, paths: [] }
    return failed(
      'workspace_diverged',
      `${path} is ${named(current)}, neither what the run found (${named(history.first.before)}) nor what it left (${named(history.last.blob?.sha256 ?? null)}); resume in a clean checkout of the same commit`,
    )
  } finally {
    closeWritePlace(place)
  }
}

async function restore(
  workspace: Workspace,
  path: string,
  { last }: History,
  ledger: Pick<Ledger, 'getBlob'>,
): Promise<Restored> {
  const { fact, place } = writeFact(workspace, path)
  if (place === null)
    return failed(
      'workspace_diverged',
      `${path} cannot be restored: ${fact.known ? 'no place' : fact.detail}; resume in a fresh checkout`,
    )
  try {
    if (isInPlace(place, last)) return { ok: true, paths: [] }
    let bytes: Uint8Array | null = null
    if (last.blob !== null) {
      bytes = await ledger.getBlob(last.blob.sha256)
      if (bytes === null)
        return failed('artifact_missing', `the ledger no longer has ${path} (${last.blob.sha256}); start a new run`)
    }
    const replaced = replaceFile(place, bytes, last.mode)
    if (replaced.kind !== 'done')
      return failed('restore_failed', `${path} could not be restored: ${replaced.message}; resume in a fresh checkout`)
    return { ok: true, paths: [path] }
  } finally {
    closeWritePlace(place)
  }
}

function isInPlace({ fact: { before } }: WritePlace, last: Artifact): boolean {
  if (last.blob === null) return before === null
  return before?.sha256 === last.blob.sha256 && before.mode === last.mode
}

function named(digest: string | null): string {
  return digest === null ? 'absent' : digest.slice(0, 12)
}

function failed(code: 'workspace_diverged' | 'artifact_missing' | 'restore_failed', message: string): Restored {
  return { ok: false, code, message }
}
