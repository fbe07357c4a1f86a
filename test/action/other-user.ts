import { chmodSync, chownSync, copyFileSync, linkSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { JobAttempt } from './job.ts'

/** A user whom the host does not know: no name, no home. Only root can become one. */
export interface OtherUser {
  uid: number
  /** A Node that this user may run: the suite's own may lie where only its owner can look. */
  node: string
  /** Makes the job's files this user's. */
  give(job: JobAttempt): void
  remove(): void
}

/** null where this suite does not run as root. `action` is made readable to everybody. */
export function otherUser(uid: number, action: string): OtherUser | null {
  if (process.getuid?.() !== 0) return null
  const folder = mkdtempSync(join(tmpdir(), 'agentctl-node-'))
  chmodSync(folder, 0o755)
  const node = join(folder, 'node')
  try {
    linkSync(process.execPath, node)
  } catch {
    copyFileSync(process.execPath, node)
  }
  chmodSync(action, 0o755)
  return {
    uid,
    node,
    give({ workspace }) {
      const root = dirname(workspace)
      const entries = readdirSync(root, { recursive: true, encoding: 'utf8' })
      for (const path of [root, ...entries.map(entry => join(root, entry))]) chownSync(path, uid, uid)
    },
    remove() {
      rmSync(folder, { recursive: true })
      // What agentctl keeps to find what it left when it was killed (runner/process/containment).
      rmSync(`/tmp/agentctl-${uid}`, { recursive: true, force: true })
    },
  }
}
