import type { Json, JsonObject } from '../../json.ts'
import type { Diagnostic } from '../diagnostic.ts'
import type { WorkflowDocument } from '../document.ts'
import { createReporter, type Reporter } from '../reporter.ts'
import { holdsTemplate } from '../template/template.ts'
import { placeAt } from '../yaml/places.ts'
import { readYaml } from '../yaml/read.ts'
import { bareTree, type Path, type YamlFault } from '../yaml/tree.ts'
import { toValue } from '../yaml/value.ts'
import { namedFiles } from './files.ts'
import { inWorkspace } from './in-workspace.ts'

/** At most so many mentions of files in one document, and so many characters in all of them together. */
const fileMentions = 256
const fileCharacters = 16_777_216

/** Contents of the files that a document names, by workspace-relative path. */
export type VarsFiles = ReadonlyMap<string, JsonObject>

/** Reads every named vars file once; what is wrong with one is reported in it, a missing one where it is named. */
export function readVarsFiles(
  document: WorkflowDocument,
  files: { readonly [path: string]: string },
  reporter: Reporter,
): { contents: VarsFiles; diagnostics: Diagnostic[] } {
  const contents = new Map<string, JsonObject>()
  const diagnostics: Diagnostic[] = []
  const mentions = namedFiles(document)
  const [, ...rest] = mentions.slice(fileMentions - 1)
  if (rest[0] !== undefined) {
    reporter.report(rest[0].at, {
      code: 'schema_violation',
      message: `a document names at most ${fileMentions} files`,
      help: 'put what they hold into fewer files',
    })
    return { contents, diagnostics }
  }
  let room = fileCharacters
  for (const { written, path, at } of mentions) {
    if (path === null) {
      const help = 'name a file below the directory of the document, without `..`'
      reporter.report(at, {
        code: 'schema_violation',
        message: `\`${written}\` is not a relative path inside the workspace`,
        help,
      })
    } else if (!Object.hasOwn(files, path)) {
      reporter.report(at, {
        code: 'missing_reference',
        message: `the file ${path} cannot be read`,
        help: 'it is looked for beside the document',
      })
    } else if (!contents.has(path)) {
      const text = files[path] ?? ''
      room -= text.length
      if (room < 0) {
        reporter.report(at, {
          code: 'schema_violation',
          message: `the named files hold more than ${fileCharacters} characters`,
          help: 'leave out what no task reads',
        })
        break
      }
      const read = readVars(text, path)
      contents.set(path, read.vars)
      diagnostics.push(...read.diagnostics)
    }
  }
  return { contents, diagnostics }
}

/**
 * Reads one vars file: a YAML or JSON map of data. Templates are refused in it, since variables are never parsed again.
 * `file` as diagnostics should name it.
 */
export function readVars(text: string, file: string): { vars: JsonObject; diagnostics: Diagnostic[] } {
  const read = readYaml(text)
  const faults: YamlFault[] = [...read.faults]
  const tree = read.tree ?? bareTree(text)
  const value = read.tree === null ? undefined : toValue(tree, faults)
  const reporter = createReporter(tree, file)
  const vars = isObject(value) ? value : {}
  if (faults.length === 0 && !isObject(value)) {
    reporter.report([], {
      code: 'schema_violation',
      message: 'a vars file is a map of names to values',
      help: 'write `name: value` lines',
    })
  }
  reportTemplates(reporter, [], vars)
  const syntax = faults.map(
    ({ offset, message, help }): Diagnostic => ({
      code: 'yaml_syntax',
      severity: 'error',
      message,
      file,
      ...placeAt(tree, offset),
      path: '',
      help,
    }),
  )
  return { vars, diagnostics: [...syntax, ...reporter.diagnostics()] }
}

/** Reports each text that holds a template where only data may stand; `what` names such data. */
export function reportTemplates(reporter: Reporter, path: Path, value: Json, what = 'a variable'): void {
  if (typeof value === 'string' && holdsTemplate(value)) {
    const help = 'put the template where the value is used, in `with`, `when`, `outputs` or the `vars` of a task'
    reporter.report(path, {
      code: 'invalid_template',
      message: `${what} is data: no template can stand in it`,
      help,
    })
  } else if (typeof value === 'object' && value !== null) {
    const entries = Array.isArray(value) ? value.entries() : Object.entries(value)
    for (const [step, item] of entries) reportTemplates(reporter, [...path, step], item, what)
  }
}

/** Files in their order, then what is written inline; a later one replaces the whole value of a name. */
export function mergeVars(
  directory: string,
  contents: VarsFiles,
  varsFiles: readonly string[],
  inline: JsonObject,
): JsonObject {
  const merged: JsonObject = {}
  for (const written of varsFiles) Object.assign(merged, contents.get(inWorkspace(directory, written) ?? ''))
  return Object.assign(merged, inline)
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
