import type { Commit } from '../policy/approval/record.ts'

/** The commit that a workspace stands at: `sha` as GitHub named it (null in a terminal), `head` read from the checkout, null outside one. */
export function readCommit(workspace: string, sha: string | null = null): Commit {
  throw new Error(`not built yet: ${workspace} ${sha}`)
}
