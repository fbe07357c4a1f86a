import type { Diagnostic, DiagnosticCode } from './diagnostic.ts'
import { documentLimits } from './limits.ts'
import { locate } from './yaml/places.ts'
import { type Path, showPath, type YamlTree } from './yaml/tree.ts'

/** What is to be said about one place of a document. */
export interface Finding {
  code: DiagnosticCode
  message: string
  /** What to write instead; never empty. */
  help: string
  severity?: Diagnostic['severity']
  /** Whether the key at the end of the path is meant, not its value. */
  on?: 'value' | 'key'
}

/** Collects findings with their places. */
export interface Reporter {
  report(path: Path, finding: Finding): void
  /** In the order of the text, at most as many errors as are reported at once. */
  diagnostics(): Diagnostic[]
  hasErrors(): boolean
}

/** A reporter over one tree; `file` as the caller named it. */
export function createReporter(tree: YamlTree, file: string): Reporter {
  const found: Diagnostic[] = []
  let errors = 0
  return {
    report(path, { code, message, help, severity = 'error', on = 'value' }) {
      if (severity === 'error' && ++errors > documentLimits.faults) return
      const { place, anchor } = locate(tree, path, on)
      const origin = anchor === null ? '' : `the value comes from the anchor at ${anchor.line}:${anchor.column}`
      found.push({
        code,
        severity,
        message,
        file,
        line: place.line,
        column: place.column,
        path: showPath(path),
        help: [help, origin].filter(part => part !== '').join('; '),
      })
    },
    diagnostics: () => found.sort((one, other) => one.line - other.line || one.column - other.column),
    hasErrors: () => errors > 0,
  }
}
