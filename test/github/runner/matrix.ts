import { equal } from './expression-values.ts'
import { type Contexts, interpolate } from './expressions.ts'
import type { MatrixValue, Strategy } from './workflow.ts'

/** One job's values of a matrix. */
export interface Combination {
  readonly [axis: string]: MatrixValue
}

/** The `strategy` context of a job: https://docs.github.com/en/actions/reference/contexts-reference#strategy-context */
export interface StrategyContext {
  'fail-fast': boolean
  'job-index': number
  'job-total': number
  'max-parallel': number
}

/**
 * All combinations of a matrix, axes first, then `exclude`, then `include`, as "Running variations of jobs in a workflow"
 * tells it (https://docs.github.com/en/actions/how-tos/write-workflows/choose-what-workflows-do/run-job-variations);
 * `null` alone without one.
 */
export function combinations(strategy: Strategy | undefined): (Combination | null)[] {
  if (!strategy) return [null]
  const { include = [], exclude = [], ...rest } = strategy.matrix
  const axes = Object.entries(rest as { readonly [axis: string]: readonly MatrixValue[] })
  const product = axes.reduce<Combination[]>(
    (all, [axis, values]) => all.flatMap(one => values.map(value => ({ ...one, [axis]: value }))),
    axes.length === 0 ? [] : [{}],
  )
  const excluded = (one: Combination) =>
    (exclude as readonly Combination[]).some(rule =>
      Object.entries(rule).every(([axis, value]) => sameValue(one[axis], value)),
    )
  const originals = product.filter(one => !excluded(one))
  const result: Combination[] = [...originals]
  for (const extra of include as readonly Combination[]) {
    // It joins every original that it would not overwrite; values that an earlier include added may be overwritten.
    const joined = originals.map((original, index) => {
      const fits = Object.entries(extra).every(
        ([axis, value]) => !(axis in original) || sameValue(original[axis], value),
      )
      if (fits) result[index] = { ...result[index], ...extra }
      return fits
    })
    if (!joined.includes(true)) result.push(extra)
  }
  return result
}

const sameValue = (a: unknown, b: unknown): boolean =>
  typeof a === 'object' && typeof b === 'object' ? JSON.stringify(a) === JSON.stringify(b) : equal(a, b)

export const strategyContext = (strategy: Strategy | undefined, index: number, total: number): StrategyContext => ({
  'fail-fast': strategy?.['fail-fast'] ?? true,
  'job-index': index,
  'job-total': total,
  'max-parallel': strategy?.['max-parallel'] ?? total,
})

const LONGEST_NAME = 100

/**
 * The display name: matrix values in brackets unless the name holds an expression, empty values left out, cut at 100
 * characters (JobDisplayNameBuilder of the pipeline code that actions/runner was made from; ChristopherHX/runner.server
 * pull 78). Siblings may so have one name.
 */
export function jobName(key: string, name: string | undefined, matrix: Combination | null, contexts: Contexts): string {
  if (name?.includes('${{')) return cut(interpolate(name, { ...contexts, matrix }))
  const values = Object.values(matrix ?? {})
    .flatMap(scalars)
    .filter(text => text !== '')
  return cut(values.length === 0 ? (name ?? key) : `${name ?? key} (${values.join(', ')})`)
}

const scalars = (value: MatrixValue | null): string[] =>
  typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(scalars)
    : [value === null ? '' : String(value)]

export const cut = (name: string): string =>
  name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 3)}...` : name
