import { realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Policy } from '../../policy/decision/policy.ts'
import { checkRequested, isWithin, nearestExisting } from './canonical-path.ts'
import { hostFloorPath } from './host-floor.ts'
import { findProtected, type Protection } from './protected.ts'
import { UnknownFact, unknownOf } from './unknown.ts'

/** A root of the policy: as it is written, and where it is; `fault` where it allows nothing. */
export interface PolicyRoot {
  written: string
  /** As written, absolute, links not followed: tells which root a path meant. */
  lexical: string
  real: string | null
  fault: { cause: string; detail: string } | null
}

/** The host as one policy sees it: where reads and writes may go. Found once per run; roots are looked at again at each use. */
export interface Workspace {
  /** Canonical workspace root of the policy. */
  root: string
  policy: Policy
  protection: Protection
}

export interface WorkspaceSettings {
  workspace: string
  policy: Policy
  protectedPaths: readonly string[]
  sourceFiles: readonly string[]
}

/** Opens the policy's workspace. Throws UnknownFact where its root does not exist or leads out. */
export function openWorkspace(settings: WorkspaceSettings): Workspace {
  const { policy } = settings
  const base = realpathSync.native(settings.workspace)
  checkRequested(policy.workspaceRoot)
  let root: string
  try {
    root = realpathSync.native(path.resolve(base, policy.workspaceRoot))
  } catch (error) {
    const { cause, detail } = unknownOf(error, policy.workspaceRoot)
    throw new UnknownFact(cause, `policy.workspaceRoot: ${detail}; name an existing directory`)
  }
  if (!path.isAbsolute(policy.workspaceRoot) && !isWithin(base, root))
    throw new UnknownFact(
      'symlink_escape',
      `policy.workspaceRoot ${JSON.stringify(policy.workspaceRoot)} leads out of the workspace to ${root}; name it as an absolute path`,
    )
  if (!statSync(root).isDirectory())
    throw new UnknownFact(
      'not_directory',
      `policy.workspaceRoot ${JSON.stringify(policy.workspaceRoot)} is not a directory; name one`,
    )
  const protectedPaths = [
    hostFloorPath,
    ...settings.protectedPaths,
    ...settings.sourceFiles.flatMap(file => [path.resolve(base, file), path.resolve(root, file)]),
  ]
  return { root, policy, protection: findProtected([base, root], protectedPaths) }
}

/** The writable roots as they are now: a root that does not exist yet counts where it would be. */
export function writableRoots(workspace: Workspace): PolicyRoot[] {
  return workspace.policy.writableRoots.map(written => policyRoot(workspace.root, 'writableRoots', written))
}

/** The directories of secret files as they are now. */
export function secretFileRoots(workspace: Pick<Workspace, 'root' | 'policy'>): PolicyRoot[] {
  return workspace.policy.secretFileRoots.map(written => policyRoot(workspace.root, 'secretFileRoots', written))
}

function policyRoot(root: string, field: 'writableRoots' | 'secretFileRoots', written: string): PolicyRoot {
  const lexical = path.resolve(root, written)
  const refuse = (cause: string, detail: string): PolicyRoot => ({
    written,
    lexical,
    real: null,
    fault: { cause, detail: `${field} entry ${JSON.stringify(written)}: ${detail}` },
  })
  if (written === '~' || written.startsWith('~/')) return refuse('tilde', '`~` is not expanded')
  try {
    checkRequested(written)
    const { real, missing } = nearestExisting(lexical)
    const place = path.join(real, ...missing)
    if (missing.length === 0 && !statSync(real).isDirectory()) return refuse('root_not_directory', 'is a file')
    if (!path.isAbsolute(written) && !isWithin(root, place))
      return refuse('symlink_escape', `leads out of the workspace to ${place}`)
    return { written, lexical, real: place, fault: null }
  } catch (error) {
    const { cause, detail } = unknownOf(error, written)
    return refuse(cause, detail)
  }
}
