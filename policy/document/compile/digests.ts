import { canonical, type Digest, sha256OfParts } from '../../canonical.ts'
import type { Json } from '../../json.ts'
import type { Plan, PlanAction, PlanTask } from '../plan.ts'

/** SHA-256 over the canonical plan without its own digest and without the tasks' places in the document. */
export function planDigest(plan: Plan): Digest {
  return sha256OfParts(canonicalPlan(plan))
}

/** What `planDigest` is taken over, in parts; an action that tasks share is written out once and joined in as text. */
function* canonicalPlan(plan: Plan): Iterable<string> {
  const { planDigest: _, ...fields } = plan
  let separator = '{'
  for (const name of Object.keys(fields).sort() as (keyof typeof fields)[]) {
    yield `${separator}${JSON.stringify(name)}:`
    if (name === 'tasks') yield* canonicalTasks(plan.tasks)
    else yield canonical(plan[name] as unknown as Json)
    separator = ','
  }
  yield '}'
}

function* canonicalTasks(tasks: Plan['tasks']): Iterable<string> {
  const actions = new Map<PlanAction, string>()
  let part = ''
  let separator = '{'
  for (const id of Object.keys(tasks).sort()) {
    const task = tasks[id]
    if (task === undefined) continue
    part += `${separator}${JSON.stringify(id)}:${canonicalTask(task, actions)}`
    separator = ','
    if (part.length < partCharacters) continue
    yield part
    part = ''
  }
  yield separator === '{' ? '{}' : `${part}}`
}

/** Long enough that hashing a part costs more than handing it over. */
const partCharacters = 65_536

function canonicalTask(task: PlanTask, actions: Map<PlanAction, string>): string {
  let action = actions.get(task.action)
  if (action === undefined) {
    action = canonical(task.action as unknown as Json)
    actions.set(task.action, action)
  }
  let text = `{"action":${action}`
  for (const [name, prefix] of taskFields) {
    const value = task[name] as Json | undefined
    if (value !== undefined) text += prefix + canonical(value)
  }
  return `${text}}`
}

/** Every other field of a task in canonical order; the compiler holds the list complete. */
const fieldNames = {
  bindings: true,
  compensate: true,
  compensates: true,
  control: true,
  failure: true,
  id: true,
  iteration: true,
  memoryWrites: true,
  needs: true,
  outputSchema: true,
  retry: true,
  routes: true,
  scope: true,
  timeoutSeconds: true,
  uses: true,
  vars: true,
  when: true,
  with: true,
} as const satisfies { [Field in Exclude<keyof PlanTask, 'action' | 'source'>]: true }
const taskFields = Object.keys(fieldNames).map(name => [name as keyof typeof fieldNames, `,"${name}":`] as const)
