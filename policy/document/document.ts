import type { JsonObject } from '../json.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { Lost } from './schema/repair.ts'
import type { Workflow } from './schema/workflow.ts'
import type { YamlTree } from './yaml/tree.ts'

/** A document that could be read: its values, and the syntax tree that knows where each of them stands. */
export interface WorkflowDocument {
  /** As the caller named it. */
  file: string
  /** Workspace-relative directory of the document, `.` for the root; the files it names are relative to it. */
  directory: string
  /** As written, aliases and merge keys expanded: what the workflow digest is taken over. */
  value: JsonObject
  /** With the schema's defaults. */
  workflow: Workflow
  tree: YamlTree
  /**
   * Whether parsing reported errors. The faulty parts are left out of `workflow`, so that compiling it still finds the
   * independent faults, but never a plan.
   */
  faulty: boolean
  /** The errors that parsing reported: compiling repeats them, so that its answer is whole. */
  errors: Diagnostic[]
  /** Paths below `spec` of what was left out. */
  lost: Lost
}
