import type { Floor } from '../../decision/floor.ts'
import type { Json, JsonObject } from '../../json.ts'
import type { WorkflowDocument } from '../document.ts'
import type { Reporter } from '../reporter.ts'
import type { Workflow } from '../schema/workflow.ts'
import type { Path } from '../yaml/tree.ts'

/** Fields whose keys are names that the author chose. */
const nameMaps: ReadonlySet<string> = new Set([
  'providers',
  'agents',
  'actions',
  'tools',
  'subworkflows',
  'mcpServers',
  'a2aPeers',
  'env',
  'headers',
])

/** Fields that hold data, schemas or prices, and the policy, whose bounds are those under `policy` of the floor. */
const apart: ReadonlySet<string> = new Set([
  'inputs',
  'outputs',
  'vars',
  'with',
  'working',
  'initial',
  'equals',
  'items',
  'axes',
  'inputSchema',
  'outputSchema',
  'structuredOutput',
  'providerOptions',
  'pricing',
  'policy',
])

/**
 * A document under the `limits` of the floor: a number that is written beyond one is a violation at its place, a default
 * beyond one is lowered silently.
 */
export function underLimits(document: WorkflowDocument, floor: Floor | null, reporter: Reporter): WorkflowDocument {
  const limits = floor?.limits
  if (limits === undefined) return document
  const beyond = (field: string, value: Json): number | null => {
    const limit = Object.hasOwn(limits, field) ? limits[field] : undefined
    return limit !== undefined && typeof value === 'number' && value > limit ? limit : null
  }
  visit(document.value['spec'] ?? null, ['spec'], false, (path, field, value) => {
    const limit = beyond(field, value)
    if (limit !== null)
      reporter.report(path, {
        code: 'floor_violation',
        message: `${field} asks for ${JSON.stringify(value)}, beyond the ${limit} that the floor set by ${setBy(floor, `limits.${field}`)} allows`,
        help: `write at most ${limit}, or have the floor changed`,
      })
  })
  const spec = lowered(document.workflow.spec as unknown as Json, false, beyond) as unknown as Workflow['spec']
  return { ...document, workflow: { ...document.workflow, spec } }
}

function visit(
  value: Json,
  path: Path,
  isNames: boolean,
  each: (path: Path, field: string, value: Json) => void,
): void {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) visit(item, [...path, index], false, each)
  else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value)) {
      if (!isNames && apart.has(key)) continue
      if (!isNames) each([...path, key], key, member)
      visit(member, [...path, key], !isNames && nameMaps.has(key), each)
    }
}

/** A copy in which every bounded number is at most its limit. */
function lowered(value: Json, isNames: boolean, beyond: (field: string, value: Json) => number | null): Json {
  if (Array.isArray(value)) return value.map(item => lowered(item, false, beyond))
  if (typeof value !== 'object' || value === null) return value
  const copy: JsonObject = {}
  for (const [key, member] of Object.entries(value)) {
    if (!isNames && apart.has(key)) copy[key] = member
    else copy[key] = (isNames ? null : beyond(key, member)) ?? lowered(member, !isNames && nameMaps.has(key), beyond)
  }
  return copy
}

/** The number that holds for a field without a default of its own; what is written is within the floor already. */
export function boundedBy(floor: Floor | null, field: string, written: number | undefined, otherwise: number): number {
  return Math.min(written ?? otherwise, floor?.limits?.[field] ?? Infinity)
}

/** Who set a field of the floor. */
export function setBy(floor: Floor | null, field: string): string {
  return floor?.setBy?.[field]?.join(' and ') ?? 'floor'
}
