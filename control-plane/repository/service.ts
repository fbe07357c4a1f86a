import { AccessMemory } from './access.ts'
import type { RepositoryHandle } from './handle.ts'
import { jobCalls } from './job-calls.ts'
import { personCalls } from './person-calls.ts'
import { reads } from './reads.ts'
import { RepositoryState, type RepositoryWorld } from './state.ts'
import { workCalls } from './work-calls.ts'

/** One repository over its ledger and its GitHub: the handle itself on Node, within its object on Workers. */
export function repositoryService(id: number, world: RepositoryWorld): RepositoryHandle {
  const state = new RepositoryState(id, world)
  const access = new AccessMemory(world.clock)
  return { ...jobCalls(state), ...personCalls(state, access), ...reads(state), ...workCalls(state) }
}
