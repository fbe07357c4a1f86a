import type { Clock } from '../../policy/ports.ts'
import type { GitHubRepository } from '../github/index.ts'
import type { Answer } from '../problem.ts'
import { type RepositoryFloor, readFloor } from '../repository/floor.ts'
import { answerOf } from '../repository/refusals.ts'

const keptMs = 30_000
const kept = new WeakMap<GitHubRepository, { at: number; floor: RepositoryFloor }>()

/**
 * The floor that binds a decision now. An answer of the last 30 s may do, so that a burst of comments costs one reading;
 * the floor is read once more when the run resumes.
 */
export async function floorNow(context: { github: GitHubRepository; clock: Clock }): Promise<Answer<RepositoryFloor>> {
  const { github, clock } = context
  const now = clock.now()
  const last = kept.get(github)
  if (last !== undefined && now.getTime() >= last.at && now.getTime() - last.at < keptMs) {
    return { ok: true, value: last.floor }
  }
  const read = await answerOf(() => readFloor(github, now))
  if (read.ok) kept.set(github, { at: now.getTime(), floor: read.value })
  return read
}
