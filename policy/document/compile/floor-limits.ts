import type { Floor } from '../../decision/floor.ts'
import type { Reporter } from '../reporter.ts'
import type { Path } from '../yaml/tree.ts'

/** A number that a floor may bound by the name of its field. */
export interface Bounded {
  field: string
  /** As written; undefined where the document leaves it out. */
  written: number | undefined
  /** What holds where the document leaves it out. */
  otherwise: number
}

/** The number that holds: a default is tightened silently, a written one beyond the floor is a violation. */
export function boundedBy(
  floor: Floor | null,
  reporter: Reporter,
  path: Path,
  { field, written, otherwise }: Bounded,
): number {
  const bound = floor?.limits?.[field]
  if (bound === undefined) return written ?? otherwise
  if (written !== undefined && written > bound) {
    reporter.report([...path, field], {
      code: 'floor_violation',
      message: `${field} asks for ${written}, beyond the ${bound} that the floor set by ${setBy(floor, `limits.${field}`)} allows`,
      help: `write at most ${bound}, or have the floor changed`,
    })
  }
  return Math.min(written ?? otherwise, bound)
}

/** Who set a field of the floor. */
export function setBy(floor: Floor | null, field: string): string {
  return floor?.setBy?.[field]?.join(' and ') ?? 'floor'
}
