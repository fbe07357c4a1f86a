import type { WorkflowDocument } from '../document.ts'

/** Version of the document language that a pack's `agentctl` range is matched against (01). */
export const languageVersion = '0.3.0'

/** What to write instead of a range that is not understood. */
export const rangeHelp = 'write comparators such as ^1.2, ~1.2.3 or >=1.0.0, <2.0.0'

/** Compares versions. */
export interface Versions {
  /** Whether a version lies in a range; null where the range is not understood. */
  inRange(version: string, range: string): boolean | null
}

/** What `compile` needs to check the versions of packs, loaded only where there are some; else null. */
export async function versionsFor({ workflow }: WorkflowDocument): Promise<Versions | null> {
  return workflow.spec.packs.length === 0 ? null : import('./ranges.ts')
}
