import { holds } from './expressions.ts'
import { contextsOf, type Post, type StepScope, statusOf } from './scope.ts'

/**
 * Post steps run in reverse order whatever happened, each by its `post-if`, `always()` where there is none. A forced cancel
 * is taken for the worst: they do not run. A lost runner runs nothing.
 */
export async function performPosts(posts: readonly Post[], where: StepScope): Promise<void> {
  for (const { condition, perform } of [...posts].reverse()) {
    const { forced, lost } = where.job.ports.stop
    if (forced.aborted || lost.aborted) return
    if (holds(condition ?? 'always()', contextsOf(where), statusOf(where))) await perform()
  }
}
