import type { z } from 'zod'
import type { Json, JsonObject } from '../json.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { WorkflowDocument } from './document.ts'
import { documentLimits } from './limits.ts'
import { createReporter, type Reporter } from './reporter.ts'
import { reportIssue } from './schema/issues.ts'
import { type Lost, leaveOut, readBareScalars } from './schema/repair.ts'
import { apiVersion, oldApiVersion, type Workflow, workflowSchema } from './schema/workflow.ts'
import { placeAt } from './yaml/places.ts'
import { readYaml } from './yaml/read.ts'
import { bareTree, type YamlFault, type YamlTree } from './yaml/tree.ts'
import { toValue } from './yaml/value.ts'

export interface ParseOptions {
  text: string
  /** As diagnostics should name it. */
  file: string
  /** Workspace-relative directory of the document; by default that of `file`. */
  directory?: string
}

export interface ParseResult {
  /** null where the text is no document of this language at all; see `WorkflowDocument.faulty` for the rest. */
  document: WorkflowDocument | null
  diagnostics: Diagnostic[]
}

/**
 * Reads a document and checks it against the schema. All faults that do not follow from one another are reported at
 * once, with their places; compiling a faulty document gives the remaining ones and no plan.
 */
export function parseDocument({ text, file, directory = directoryOf(file) }: ParseOptions): ParseResult {
  const read = readYaml(text)
  if (read.tree === null) return { document: null, diagnostics: textFaults(text, file, read.faults) }
  const { tree } = read

  const faults: YamlFault[] = []
  const value = toValue(tree, faults)
  const syntax = textFaults(text, file, faults)
  const reporter = createReporter(tree, file)
  if (value === undefined) return { document: null, diagnostics: syntax }
  if (!isObject(value)) {
    reporter.report([], {
      code: 'schema_violation',
      message: 'a document is a map with apiVersion, kind, metadata and spec',
      help: `begin with apiVersion: ${apiVersion}, kind: Workflow, metadata: {name: NAME} and spec`,
    })
    return { document: null, diagnostics: [...syntax, ...reporter.diagnostics()] }
  }
  if (!checkVersion(reporter, value)) return { document: null, diagnostics: [...syntax, ...reporter.diagnostics()] }

  const checked = checkSchema(reporter, tree, value)
  const diagnostics = mergeDiagnostics(syntax, reporter.diagnostics())
  if (checked === null) return { document: null, diagnostics }
  const errors = diagnostics.filter(diagnostic => diagnostic.severity === 'error')
  return { document: { file, directory, tree, faulty: errors.length > 0, errors, ...checked }, diagnostics }
}

/** Findings of several steps in the order of the text, the errors among them cut at the hundredth. */
export function mergeDiagnostics(...lists: Diagnostic[][]): Diagnostic[] {
  const all = lists.flat().sort((one, other) => one.line - other.line || one.column - other.column)
  let errors = 0
  return all.filter(diagnostic => diagnostic.severity === 'warning' || ++errors <= documentLimits.faults)
}

function checkVersion(reporter: Reporter, value: JsonObject): boolean {
  const { apiVersion: written } = value
  if (written === undefined && Object.hasOwn(value, 'playbook')) {
    reporter.report(['playbook'], {
      code: 'migration_required',
      message: 'an unversioned playbook is not read',
      help: `rewrite it with apiVersion: ${apiVersion}, kind: Workflow, metadata and spec`,
      on: 'key',
    })
    return false
  }
  if (typeof written !== 'string' || written === apiVersion) return true
  if (written === oldApiVersion) {
    reporter.report(['apiVersion'], {
      code: 'migration_required',
      severity: 'warning',
      message: `apiVersion ${oldApiVersion} is an older name of the same language`,
      help: `write ${apiVersion}`,
    })
    return true
  }
  reporter.report(['apiVersion'], {
    code: 'unsupported_version',
    message: `apiVersion \`${written}\` is not known`,
    help: `write ${apiVersion}`,
  })
  return false
}

interface Checked {
  value: JsonObject
  workflow: Workflow
  lost: Lost
}

/** Characters of text from which on it pays that zod makes code of the schema before it checks. */
const compiledFrom = 65_536

function checkSchema(reporter: Reporter, tree: YamlTree, written: JsonObject): Checked | null {
  const check = (candidate: Json): z.ZodSafeParseResult<Workflow> =>
    workflowSchema.safeParse(candidate, { jitless: tree.text.length < compiledFrom })
  let value: Json = written
  let result = check(value)
  if (!result.success) {
    value = readBareScalars(tree, value, result.error.issues)
    if (value !== written) result = check(value)
  }
  if (result.success) return isObject(value) ? { value, workflow: result.data, lost: new Set() } : null

  for (const issue of result.error.issues.slice(0, documentLimits.faults)) reportIssue(reporter, tree, value, issue)
  const rest = leaveOut(value, result.error.issues)
  const repaired = check(rest.value)
  if (!repaired.success || !isObject(value)) return null
  return { value, workflow: repaired.data, lost: rest.lost }
}

function textFaults(text: string, file: string, faults: readonly YamlFault[]): Diagnostic[] {
  const tree = bareTree(text)
  return faults.map(({ offset, message, help }) => ({
    code: 'yaml_syntax',
    severity: 'error',
    message,
    file,
    ...placeAt(tree, offset),
    path: '',
    help,
  }))
}

function directoryOf(file: string): string {
  const slash = file.lastIndexOf('/')
  return slash <= 0 || file.startsWith('/') ? '.' : file.slice(0, slash)
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
