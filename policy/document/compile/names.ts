import { nearest } from '../schema/fields.ts'
import type { Lost } from '../schema/repair.ts'
import type { Task } from '../schema/task.ts'
import type { Path } from '../yaml/tree.ts'
import { kinds } from './kinds.ts'
import type { UsedAction, Work } from './work.ts'

const uses = { action: 'actions', agent: 'agents', workflow: 'subworkflows' } as const

/** What `uses` of a task means; reports a name that is not defined. */
export function resolveUses(
  work: Pick<Work, 'document' | 'reporter'>,
  task: Pick<Task, 'uses'>,
  at: Path,
): UsedAction | null {
  const { document, reporter } = work
  const path = [...at, 'uses']
  if (task.uses === 'router') return null
  const colon = task.uses.indexOf(':')
  const kind = task.uses.slice(0, Math.max(0, colon))
  const name = task.uses.slice(colon + 1)
  if (kind !== 'action' && kind !== 'agent' && kind !== 'workflow') {
    const help = 'write action:NAME, agent:NAME, workflow:NAME or router'
    reporter.report(path, {
      code: 'schema_violation',
      message: `\`${task.uses}\` names nothing that a task can use`,
      help,
    })
    return null
  }

  const part = uses[kind]
  const { [part]: definitions } = document.workflow.spec
  if (!Object.hasOwn(definitions, name)) {
    if (!document.lost.has(`${part}.${name}`) && !document.lost.has(part) && !isOfLostPack(document.lost, name)) {
      const close = nearest(name, Object.keys(definitions))
      const help = close === null ? `define it in spec.${part}` : `did you mean \`${kind}:${close}\`?`
      reporter.report(path, { code: 'missing_reference', message: `spec.${part} has no \`${name}\``, help })
    }
    return null
  }
  if (kind !== 'action') return null
  const definition = document.workflow.spec.actions[name]
  return definition === undefined ? null : { name, definition, kind: kinds[definition.kind] }
}

/** Whether a name is of a pack that gives nothing: why was reported where the pack is named. */
function isOfLostPack(lost: Lost, name: string): boolean {
  if (lost.has('packs')) return name.includes('.')
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1))
    if (lost.has(`packs.${name.slice(0, dot)}`)) return true
  return false
}
