import type { Digest } from '../../policy/canonical.ts'
import { type Floor, floorDigest, matchesGlob, meetAll, parseFloor } from '../../policy/decision/index.ts'
import type { FloorFile, GitHubRepository } from '../github/index.ts'
import { problem } from '../problem.ts'
import { githubProblem } from './refusals.ts'

/** The floor in force for a repository: its default branch's met with its organisation's. */
export interface RepositoryFloor {
  /** null where neither has one. */
  floor: Floor | null
  digest: Digest | null
  /** Where each was read, `owner/name:path@sha`. */
  sources: string[]
}

/** Reads the floor as GitHub has it now. Throws ProblemError: a floor that cannot be read is a refusal, never "no floor". */
export async function readFloor(github: GitHubRepository, now: Date): Promise<RepositoryFloor> {
  const files = await github.floorFiles()
  if (!files.ok) throw githubProblem(files, 'which security floor holds here', now)
  const { repository, organisation } = files.value
  const floor = meetAll([parse(organisation, 'organisation'), parse(repository, 'repository')])
  return {
    floor,
    digest: floor === null ? null : floorDigest(floor),
    sources: [organisation, repository].flatMap(file => (file === null ? [] : [file.source])),
  }
}

function parse(file: FloorFile | null, source: 'organisation' | 'repository'): Floor | null {
  if (file === null) return null
  const parsed = 'fault' in file ? { ok: false as const, message: file.fault } : parseFloor(file.text, source)
  if (parsed.ok) return parsed.floor
  throw problem(422, 'floor_invalid', `${file.source}: ${parsed.message}; correct it on its default branch`)
}

/** Whether a floor lets this workflow attach: `allowedWorkflowRefs` are globs over `owner/name/path@ref`. */
export function allowsWorkflow(floor: Floor | null, workflowRef: string): boolean {
  const allowed = floor?.allowedWorkflowRefs
  return allowed === undefined || allowed.some(pattern => matchesGlob(pattern, workflowRef))
}
