import type { Path } from '../yaml/tree.ts'
import type { PackFile } from './parse.ts'

/** One mention of a pack: by the document, or by a pack that depends on it. */
export interface Wanted {
  name: string
  version: string
  /** As written, relative to the document's directory whoever names it. */
  source: string
  integrity: string | undefined
  /** Where it is named. */
  at: Path
  by: Pick<PackFile, 'reporter'>
  /** Name of the pack that wants it, null for the document. */
  dependent: string | null
}

/** Who wants it, for a message. */
export function whose({ dependent }: Wanted): string {
  return dependent === null ? 'the document' : `pack \`${dependent}\``
}

/** A pinned pack would otherwise run on whatever the pack that it depends on has become. */
export function warnUnpinned({ name, at, by, dependent }: Wanted, pinned: ReadonlySet<string>): void {
  if (dependent === null || !pinned.has(dependent)) return
  by.reporter.report(at, {
    code: 'policy_denied',
    severity: 'warning',
    message: `pack \`${dependent}\` is pinned by its integrity, \`${name}\` that it depends on is not`,
    help: `declare \`${name}\` in spec.packs with its integrity`,
  })
}

/** Reports an error where the pack is named. */
export function refuse(
  { at, by }: Wanted,
  below: Path,
  message: string,
  help: string,
  code: 'schema_violation' | 'policy_denied' | 'missing_reference' = 'schema_violation',
): void {
  by.reporter.report([...at, ...below], { code, message, help })
}
