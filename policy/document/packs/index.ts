import type { Diagnostic } from '../diagnostic.ts'
import type { WorkflowDocument } from '../document.ts'
import { createReporter, type Reporter } from '../reporter.ts'
import type { Path, YamlTree } from '../yaml/tree.ts'
import { loadPacks } from './load.ts'
import { mergePacks, type Origin } from './merge.ts'
import { checkTrust } from './trust.ts'
import type { Versions } from './versions.ts'

/** A document with its packs, and where each part of it really stands. */
export interface WithPacks {
  document: WorkflowDocument
  /** Takes paths of the merged document; a finding about an item of a pack stands in the pack's file. */
  reporter: Reporter
  /** Tree, path and file of what stands at a path; file is null for the document itself. */
  placeOf(path: Path): { tree: YamlTree; path: Path; file: string | null }
  /** What was found in the files of packs, by now. */
  inPacks(): Diagnostic[]
}

/**
 * Merges the packs of a document into it, before anything of it is compiled. Throws TypeError where the document has
 * packs and `versions` is not given.
 */
export function withPacks(
  document: WorkflowDocument,
  files: { readonly [path: string]: string },
  versions: Versions | null,
): WithPacks {
  const own = createReporter(document.tree, document.file)
  const { spec } = document.workflow
  if (spec.packs.length === 0)
    return { document, reporter: own, placeOf: path => ({ tree: document.tree, path, file: null }), inPacks: () => [] }

  if (versions === null) throw new TypeError('the document has packs: compile it with `versions`, see versionsFor')
  const packs = loadPacks(document, files, own, versions)
  checkTrust(packs.loaded, spec.packTrust)
  const { document: merged, origins } = mergePacks(document, packs, own)
  const originOf = ([top, part, name, ...rest]: Path): Origin | null => {
    const origin = top === 'spec' && typeof name === 'string' ? origins.get(`${part} ${name}`) : undefined
    return origin === undefined ? null : { pack: origin.pack, path: [...origin.path, ...rest] }
  }
  const reporter: Reporter = {
    report(path, finding) {
      const origin = originOf(path)
      if (origin === null) own.report(path, finding)
      else origin.pack.reporter.report(origin.path, finding)
    },
    diagnostics: () => own.diagnostics(),
    hasErrors: () => own.hasErrors() || packs.diagnostics().some(({ severity }) => severity === 'error'),
  }
  const placeOf: WithPacks['placeOf'] = path => {
    const origin = originOf(path)
    if (origin === null) return { tree: document.tree, path, file: null }
    return { tree: origin.pack.tree, path: origin.path, file: origin.pack.file }
  }
  return { document: merged, reporter, placeOf, inPacks: () => packs.diagnostics() }
}
