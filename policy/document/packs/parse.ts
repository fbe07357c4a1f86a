import type { Json, JsonObject } from '../../json.ts'
import { documentLimits } from '../limits.ts'
import { createReporter, type Reporter } from '../reporter.ts'
import { reportIssue } from '../schema/issues.ts'
import { readBareScalars } from '../schema/repair.ts'
import { readYaml } from '../yaml/read.ts'
import { bareTree, type YamlFault, type YamlTree } from '../yaml/tree.ts'
import { toValue } from '../yaml/value.ts'
import { type PackManifest, packApiVersion, packSchema } from './schema.ts'
import { languageVersion, rangeHelp, type Versions } from './versions.ts'

/** A manifest that could be read. */
export interface ParsedPack {
  manifest: PackManifest
  /** As written, without the schema's defaults. */
  written: JsonObject
}

/** What one file came to; `pack` is null where it has any fault. */
export interface PackFile {
  pack: ParsedPack | null
  tree: YamlTree
  /** Of faults within the file. */
  reporter: Reporter
  syntax: readonly YamlFault[]
}

/**
 * Reads a manifest under the limits of a document; `file` as diagnostics should name it. Without `versions` it is not
 * held against the version of the language.
 */
export function parsePack(text: string, file: string, versions: Versions | null): PackFile {
  const read = readYaml(text)
  const syntax = [...read.faults]
  const tree = read.tree ?? bareTree(text)
  const reporter = createReporter(tree, file)
  const value = read.tree === null ? undefined : toValue(tree, syntax)
  const found = { pack: null, tree, reporter, syntax }
  if (value === undefined || syntax.length > 0) return found
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const message = 'a pack is a map with apiVersion, name, version and agentctl'
    const help = `begin with apiVersion: ${packApiVersion}, then name, version and agentctl`
    reporter.report([], { code: 'schema_violation', message, help })
    return found
  }
  if (typeof value['apiVersion'] === 'string' && value['apiVersion'] !== packApiVersion) {
    reporter.report(['apiVersion'], {
      code: 'unsupported_version',
      message: `apiVersion \`${value['apiVersion']}\` is not known of a pack`,
      help: `write ${packApiVersion}`,
    })
    return found
  }
  const pack = checkSchema(reporter, tree, value)
  if (pack !== null) {
    if (versions !== null) checkLanguage(reporter, pack.manifest, versions)
    refuseFiles(reporter, pack.manifest)
  }
  return { ...found, pack: reporter.hasErrors() ? null : pack }
}

function checkSchema(reporter: Reporter, tree: YamlTree, value: JsonObject): ParsedPack | null {
  let written: Json = value
  let result = packSchema.safeParse(written)
  if (!result.success) {
    written = readBareScalars(tree, written, result.error.issues)
    if (written !== value) result = packSchema.safeParse(written)
  }
  if (result.success) return { manifest: result.data, written: written as JsonObject }
  for (const issue of result.error.issues.slice(0, documentLimits.faults))
    reportIssue(reporter, tree, written, issue, packSchema)
  return null
}

function checkLanguage(reporter: Reporter, { agentctl }: PackManifest, versions: Versions): void {
  const fits = versions.inRange(languageVersion, agentctl)
  if (fits === null) {
    const message = `agentctl is \`${agentctl}\`, which is no range of versions`
    reporter.report(['agentctl'], { code: 'schema_violation', message, help: rangeHelp })
  } else if (!fits) {
    reporter.report(['agentctl'], {
      code: 'unsupported_version',
      message: `the pack asks for version ${agentctl} of the document language; this is ${languageVersion}`,
      help: 'use a version of the pack that was written for this one',
    })
  }
}

/** The integrity of a pack covers its own bytes only, so nothing of it may stand in another file. */
function refuseFiles(reporter: Reporter, { agents, workflows }: PackManifest): void {
  const refuse = (path: (string | number)[], field: string): void =>
    reporter.report([...path, field], {
      code: 'schema_violation',
      message: `\`${field}\` cannot stand in a pack: its integrity would not cover those files`,
      help: `write ${field === 'varsFiles' ? '`vars`' : '`instructions`'} instead`,
      on: 'key',
    })
  for (const [name, { varsFiles, instructionsFile }] of Object.entries(agents)) {
    if (varsFiles.length > 0) refuse(['agents', name], 'varsFiles')
    if (instructionsFile !== undefined) refuse(['agents', name], 'instructionsFile')
  }
  for (const [name, { tasks }] of Object.entries(workflows))
    for (const [index, task] of tasks.entries())
      if (task.varsFiles !== undefined) refuse(['workflows', name, 'tasks', index], 'varsFiles')
}
