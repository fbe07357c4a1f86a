import { z } from 'zod'
import type { Path } from '../yaml/tree.ts'
import { workflowSchema } from './workflow.ts'

/** Names of the fields that an object at this path may have; empty where any key may stand. */
export function fieldsAt(path: Path, root: z.core.$ZodType = workflowSchema): string[] {
  let schema: z.core.$ZodType = unwrap(root)
  for (const step of path) {
    const next = below(schema, step)
    if (next === null) return []
    schema = unwrap(next)
  }
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}

function below(schema: z.core.$ZodType, step: string | number): z.core.$ZodType | null {
  if (schema instanceof z.ZodObject) return Object.hasOwn(schema.shape, step) ? schema.shape[step] : null
  if (schema instanceof z.ZodRecord) return schema.valueType
  return schema instanceof z.ZodArray ? schema.element : null
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  let inner = schema
  while (
    inner instanceof z.ZodLazy ||
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault
  ) {
    inner = inner.unwrap()
  }
  return inner
}

/** The known name that a mistyped one most likely means: at most two edits away. */
export function nearest(written: string, known: readonly string[]): string | null {
  if (written.length > 64) return null
  let best: string | null = null
  let least = Math.min(3, Math.ceil(written.length / 2) + 1)
  const name = written.toLowerCase()
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= least) continue
    const distance = edits(name, candidate.toLowerCase(), least)
    if (distance < least) {
      least = distance
      best = candidate
    }
  }
  return best
}

/** Edits that lead from one text to the other; `enough` where they are that many or more. */
function edits(from: string, to: string, enough: number): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let at = 1; at <= from.length; at++) {
    const next = [at]
    for (let other = 1; other <= to.length; other++) {
      const replaced = (row[other - 1] ?? 0) + (from[at - 1] === to[other - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[other] ?? 0) + 1, (next[other - 1] ?? 0) + 1))
    }
    if (next.every(count => count >= enough)) return enough
    row = next
  }
  return row[to.length] ?? 0
}
