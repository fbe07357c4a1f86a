import { type Digest, digest } from '../../canonical.ts'
import type { Json } from '../../json.ts'
import type { Plan, PlanTask } from '../plan.ts'

/** SHA-256 over the canonical plan without its own digest and without the tasks' places in the document. */
export function planDigest(plan: Plan): Digest {
  const { planDigest: _, tasks, ...rest } = plan
  const placeless: { [id: string]: Omit<PlanTask, 'source'> } = {}
  for (const [id, { source: __, ...task }] of Object.entries(tasks)) placeless[id] = task
  return digest({ ...rest, tasks: placeless } as unknown as Json)
}
