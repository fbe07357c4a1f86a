import { getExecOutput } from '@actions/exec'
import type { Plan } from '../policy/document/plan.ts'
import type { ActionContext } from './context.ts'

/** Names shown in the warning. */
const mostNamed = 5

/** Warns of tracked files that earlier steps changed where the run may pause: a resumed job has a new checkout, without them. */
export async function warnOfLocalChanges(
  { job, annotations, environment }: Pick<ActionContext, 'job' | 'annotations' | 'environment'>,
  plan: Plan,
): Promise<void> {
  if (!plan.requirements.effects.some(effect => effect.approvalPossible)) return
  const changed = await changedFiles(job.checkout, environment)
  if (changed.length === 0) return
  const named = changed.slice(0, mostNamed).join(', ')
  const more = changed.length > mostNamed ? ` and ${changed.length - mostNamed} more` : ''
  annotations.add({
    level: 'warning',
    title: 'changed checkout',
    message: `${named}${more} differ from HEAD: a job that resumes this run starts from a fresh checkout, so an earlier step has to make the same change again`,
  })
}

/** Tracked files that differ from HEAD; none where git is not there, or this is no checkout. */
async function changedFiles(checkout: string, environment: ActionContext['environment']): Promise<string[]> {
  // A repository's own configuration may name programs that `status` would start.
  const quiet = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null']
  const status = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=no']
  try {
    const env = { PATH: environment['PATH'] ?? '', HOME: environment['HOME'] ?? '/' }
    const options = { cwd: checkout, env, silent: true, ignoreReturnCode: true }
    const { exitCode, stdout } = await getExecOutput('git', [...quiet, ...status], options)
    return exitCode === 0 ? stdout.split('\0').flatMap(entry => entry.slice(3) || []) : []
  } catch {
    return []
  }
}
