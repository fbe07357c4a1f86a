import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Plan } from '../policy/document/plan.ts'
import type { ActionContext } from './context.ts'

/** Names shown in the warning. */
const mostNamed = 5

/** Warns of tracked files that earlier steps changed where the run may pause: a resumed job has a new checkout, without them. */
export async function warnOfLocalChanges(
  context: Pick<ActionContext, 'job' | 'annotations' | 'environment' | 'signal'>,
  plan: Plan,
): Promise<void> {
  if (!plan.requirements.effects.some(effect => effect.approvalPossible)) return
  const changed = await changedFiles(context)
  if (changed.length === 0) return
  const named = changed.slice(0, mostNamed).join(', ')
  const more = changed.length > mostNamed ? ` and ${changed.length - mostNamed} more` : ''
  context.annotations.add({
    level: 'warning',
    title: 'changed checkout',
    message: `${named}${more} differ from HEAD: a job that resumes this run starts from a fresh checkout, so an earlier step has to make the same change again`,
  })
}

/** A checkout so large that git takes longer is not looked through; a cancel is not held up at all. */
const longestMs = 30_000
const listBytes = 16 * 1_048_576

/** Tracked files that differ from HEAD; none where git is not there or gives no answer, or this is no checkout. */
async function changedFiles({
  job,
  environment,
  signal,
}: Pick<ActionContext, 'job' | 'environment' | 'signal'>): Promise<string[]> {
  // A repository's own configuration may name programs that `status` would start.
  const quiet = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null']
  const status = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no']
  try {
    const env = { PATH: environment['PATH'] ?? '', HOME: environment['HOME'] ?? '/' }
    const options = { cwd: job.checkout, env, signal, timeout: longestMs, maxBuffer: listBytes }
    const { stdout } = await promisify(execFile)('git', [...quiet, ...status], options)
    return stdout.split('\0').flatMap(entry => entry.slice(3) || [])
  } catch {
    return []
  }
}
