import type { Json } from '../json.ts'
import type { Plan, PlanTask } from './plan.ts'

/** Fields of a plan that hold data or schemas, and the policy, whose bounds are those under `policy` of a floor. */
const apart: ReadonlySet<string> = new Set([
  'inputs',
  'outputs',
  'vars',
  'memory',
  'with',
  'bindings',
  'initial',
  'equals',
  'schema',
  'inputSchema',
  'outputSchema',
  'effectivePolicy',
])

/** Fields whose keys are names that the author chose. */
const nameMaps: ReadonlySet<string> = new Set(['tasks', 'env'])

/** What the runner takes where a plan has no such budget (`runner/budgets.ts`). */
const defaultArtifactBytes = 16 * 1_048_576

/**
 * The largest number of each name that a plan was made with, in the unit that the name says; Infinity for a budget that it
 * could use up and does not have.
 */
export function numbersOf(plan: Plan): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  const most = (field: string, value: number) => found.set(field, Math.max(found.get(field) ?? -Infinity, value))
  const { tasks, ...rest } = plan
  visit(rest as unknown as Json, false, most)
  for (const task of Object.values(tasks)) visit(ownNumbers(task), false, most)
  for (const { control } of Object.values(tasks)) {
    if (control?.kind === 'items') most('maxItems', control.members.length)
    if (control?.kind === 'iterations') most('maxIterations', control.members.length)
  }
  for (const [budget, reach] of Object.entries(reachOf(plan))) if (!found.has(budget)) most(budget, reach)
  if (plan.longTerm?.retentionDays === null) most('retentionDays', Infinity)
  return found
}

/** A task that is computed starts nothing: its time limit and its attempts bound nothing. */
function ownNumbers({ control, ...task }: PlanTask): Json {
  if (control === undefined) return task as unknown as Json
  const { timeoutSeconds: _, retry: __, ...more } = task
  return more as unknown as Json
}

function visit(value: Json, isNames: boolean, each: (field: string, value: number) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, false, each)
  else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value)) {
      if (!isNames && apart.has(key)) continue
      if (!isNames && typeof member === 'number') each(key, member)
      visit(member, !isNames && nameMaps.has(key), each)
    }
}

/** How much of each budget a plan without it could use up. */
function reachOf(plan: Plan): { [budget: string]: number } {
  const tasks = Object.values(plan.tasks)
  const members = (kind: 'items' | 'iterations') =>
    tasks.reduce((sum, { control }) => sum + (control?.kind === kind ? control.members.length : 0), 0)
  const asksModels = plan.requirements.providers.length > 0 ? Infinity : 0
  return {
    maxTasks: tasks.filter(({ control }) => control === undefined).length,
    maxExpansionItems: members('items'),
    maxLoopIterations: members('iterations'),
    maxWallTimeSeconds: Infinity,
    maxProcessOutputBytes: plan.processes.length > 0 ? Infinity : 0,
    maxArtifactBytes: defaultArtifactBytes,
    maxProviderRequests: asksModels,
    maxTotalTokens: asksModels,
    maxCostMicrousd: asksModels,
  }
}
