import type { Diagnostic } from '../diagnostic.ts'
import type { Path } from '../yaml/tree.ts'
import type { PackFile, ParsedPack } from './parse.ts'

/** A pack whose definitions a document may use. */
export interface LoadedPack extends ParsedPack, Pick<PackFile, 'tree' | 'reporter'> {
  name: string
  /** Workspace-relative. */
  file: string
  /** Where it was first named. */
  at: Path
  by: Pick<PackFile, 'reporter'>
}

/** The packs of a document, those that it declares first, in order. */
export interface Packs {
  loaded: LoadedPack[]
  /** Declared names that give nothing, for reasons that were reported. */
  unusable: ReadonlySet<string>
  /** Workspace-relative names of the files of all of them, there or not. */
  files: string[]
  /** What is wrong in those files, as far as it is known by now. */
  diagnostics(): Diagnostic[]
}
