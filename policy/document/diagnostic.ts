/** Codes of everything that can be said about a document (01, Envelope and parsing). */
export const diagnosticCodes = [
  'yaml_syntax',
  'schema_violation',
  'unsupported_version',
  'migration_required',
  'duplicate_task',
  'missing_reference',
  'dependency_cycle',
  'invalid_template',
  'unsupported_capability',
  'invalid_secret_reference',
  'policy_denied',
  'floor_violation',
  'workspace_not_captured',
  'incompatible_state',
] as const
export type DiagnosticCode = (typeof diagnosticCodes)[number]

/** One finding about a document, with the place a person should look at. */
export interface Diagnostic {
  code: DiagnosticCode
  severity: 'error' | 'warning'
  message: string
  /** The document as the caller named it. */
  file: string
  /** From 1. */
  line: number
  /** From 1, in UTF-16 code units. */
  column: number
  /** Dotted path in the document, `spec.tasks[0].with`; empty for the whole. */
  path: string
  /** What to change; never empty. */
  help: string
}
