import { usedLists } from '../expand/invocations.ts'
import type { Path } from '../yaml/tree.ts'
import { unsupportedKinds } from './kinds.ts'
import type { CompiledTask, Work } from './work.ts'

/** Reports every feature that is used and not yet built, by name and place; nothing of it is ever ignored. */
export function reportUnsupported(work: Work): void {
  const { spec } = work.document.workflow
  const report = (path: Path, feature: string, on: 'key' | 'value' = 'key'): void => {
    work.reporter.report(path, {
      code: 'unsupported_capability',
      message: `this version of agentctl does not run ${feature}`,
      help: 'the document is well-formed; run it with a version that has this feature, or leave it out',
      on,
    })
  }

  if (spec.memory.longTerm?.embedding !== undefined) report(['spec', 'memory', 'longTerm', 'embedding'], 'embeddings')
  const tasks = usedLists(work).flatMap(list => list.tasks)
  for (const task of tasks) reportTask(work, task, report)

  const used = new Set(tasks.flatMap(task => [task.action?.name ?? [], task.compensation?.action?.name ?? []].flat()))
  for (const name of used) {
    const action = spec.actions[name]
    if (action === undefined) continue
    const path = ['spec', 'actions', name]
    const feature = unsupportedKinds[action.kind]
    if (feature !== undefined) report([...path, 'kind'], `${feature} (\`${action.kind}\`)`)
    if (action.isolation === 'cell') report([...path, 'isolation'], `\`isolation: ${action.isolation}\``)
  }
}

function reportTask(
  work: Work,
  { task, path }: CompiledTask,
  report: (path: Path, feature: string, on?: 'key' | 'value') => void,
): void {
  const { agents } = work.document.workflow.spec
  // A name that is not defined is a fault of its own.
  if (isDefined(agents, 'agent:', task.uses)) report([...path, 'uses'], 'agents', 'value')
}

function isDefined(definitions: object, prefix: string, uses: string): boolean {
  return uses.startsWith(prefix) && Object.hasOwn(definitions, uses.slice(prefix.length))
}
