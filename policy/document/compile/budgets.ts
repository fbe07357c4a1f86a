import { boundedBy, setBy } from './floor-limits.ts'
import type { Work } from './work.ts'

/** Budgets that a floor may set where the document has none. */
const runBudgets = [
  'maxTasks',
  'maxExpansionItems',
  'maxLoopIterations',
  'maxWallTimeSeconds',
  'maxProcessOutputBytes',
  'maxArtifactBytes',
  'maxProviderRequests',
  'maxTotalTokens',
  'maxCostMicrousd',
] as const

/** Budgets that are written, and those that only the floor sets; `items` = what foreach and matrix made. */
export function budgetsOf({ document, floor, reporter }: Work, items: number): { [name: string]: number } {
  const written: { readonly [name: string]: number | undefined } = document.workflow.spec.runtime.budgets
  const path = ['spec', 'runtime', 'budgets']
  const budgets: { [name: string]: number } = {}
  const names = new Set([...Object.keys(written), ...runBudgets.filter(name => floor?.limits?.[name] !== undefined)])
  for (const field of [...names].sort()) {
    const otherwise = floor?.limits?.[field] ?? 0
    budgets[field] = boundedBy(floor, field, written[field], otherwise)
  }
  const { maxExpansionItems } = budgets
  if (maxExpansionItems !== undefined && items > maxExpansionItems) {
    const byFloor = written['maxExpansionItems'] === undefined
    const owner = byFloor ? ` that the floor set by ${setBy(floor, 'limits.maxExpansionItems')} allows` : ''
    reporter.report([...path, 'maxExpansionItems'], {
      code: byFloor ? 'floor_violation' : 'schema_violation',
      message: `foreach and matrix make ${items} items, beyond the maxExpansionItems (${maxExpansionItems})${owner}`,
      help: byFloor ? 'expand fewer items, or have the floor changed' : 'raise it, or expand fewer items',
    })
  }
  return budgets
}
