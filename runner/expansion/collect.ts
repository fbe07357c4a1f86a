import { type CollectedItem, collect } from '../../policy/document/collected.ts'
import type { RunState } from '../state.ts'

/** What the members came to in this run, in their order. */
export function collectFrom(state: RunState, members: readonly string[]): CollectedItem[] {
  return collect(members, id => {
    const { state: end, error } = state.status(id)
    return { state: end, error, output: state.outputs[id]?.output ?? null }
  })
}
