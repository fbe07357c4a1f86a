import { z } from 'zod'
import { readYaml } from '../document/yaml/read.ts'
import { toValue } from '../document/yaml/value.ts'
import type { Json } from '../json.ts'
import { type Floor, floorSchema } from './floor.ts'
import { normalizeFloor } from './meet.ts'

export type FloorResult = { ok: true; floor: Floor } | { ok: false; message: string }

const floorBytesMax = 262_144

/** A SecurityFloor file as written. */
export const securityFloorSchema = z.lazy(() =>
  z.strictObject({
    apiVersion: z.enum(['agentctl.dev/v1', 'agentctl.dev/v1alpha1']),
    kind: z.literal('SecurityFloor'),
    metadata: z.strictObject({
      name: z.string().min(1),
      description: z.string().optional(),
      labels: z.record(z.string(), z.string()).optional(),
    }),
    spec: floorSchema.unwrap().omit({ setBy: true }),
  }),
)

/**
 * Reads a floor: the text of a SecurityFloor file, its envelope as a value, or a bare `spec` as it travels between the
 * control plane and the Action. A floor that cannot be read is a refusal, never "no floor".
 * @param source who installed it, `host`, `organisation`, `repository`: named in violations; a bare `spec` keeps its own.
 */
export function parseFloor(input: string | Json, source = 'floor'): FloorResult {
  const value = typeof input === 'string' ? readText(input) : { ok: true as const, value: input }
  if (!value.ok) return value
  const isSpec = typeof input !== 'string' && !isEnvelope(value.value)
  const parsed = isSpec ? floorSchema.safeParse(value.value) : securityFloorSchema.safeParse(value.value)
  if (!parsed.success) return { ok: false, message: describe(parsed.error) }
  const spec: Floor = 'spec' in parsed.data ? parsed.data.spec : parsed.data
  const floor = normalizeFloor(spec)
  return { ok: true, floor: spec.setBy ? floor : { ...floor, setBy: statedFields(floor, source) } }
}

/** By the reader of documents, which is linear in the text: anybody's floor is read where everybody's runs are served. */
function readText(text: string): { ok: true; value: unknown } | { ok: false; message: string } {
  if (text.length > floorBytesMax || new TextEncoder().encode(text).length > floorBytesMax)
    return { ok: false, message: `the floor is larger than ${floorBytesMax} bytes; shorten it` }
  const { tree, faults } = readYaml(text)
  const value = tree === null ? undefined : toValue(tree, faults)
  const [fault] = faults
  if (fault === undefined) return { ok: true, value: value ?? null }
  return { ok: false, message: `the floor is not valid YAML: ${fault.message}; ${fault.help || 'correct it'}` }
}

function isEnvelope(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('kind' in value || 'apiVersion' in value)
}

function describe(error: z.ZodError): string {
  const faults = error.issues
    .slice(0, 10)
    .map(issue => shortened(`${issue.path.join('.') || 'floor'}: ${issue.message}`))
  return `the floor is not a valid SecurityFloor: ${faults.join('; ')}`
}

/** A name, or a list of unknown ones, can be as long as the floor. */
function shortened(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

/** The fields that a floor states, dotted below `policy`, each with who set it. */
function statedFields(floor: Floor, source: string): { [field: string]: string[] } {
  const fields = Object.keys(floor).filter(field => field !== 'policy' && field !== 'setBy')
  const bounds = Object.keys(floor.policy ?? {}).map(field => `policy.${field}`)
  const limits = Object.keys(floor.limits ?? {}).map(field => `limits.${field}`)
  return Object.fromEntries([...fields, ...bounds, ...limits].sort().map(field => [field, [source]]))
}
