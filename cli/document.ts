import { dirname, join, resolve } from 'node:path'
import type { Floor } from '../policy/decision/index.ts'
import {
  compile,
  jsonSchemasFor,
  parseDocument,
  readNamedFiles,
  versionsFor,
  type WorkflowDocument,
  workflowDigest,
} from '../policy/document/index.ts'
import type { Plan } from '../policy/document/plan.ts'
import type { Context, Finding } from './command.ts'
import { CliError, FindingsError } from './failure.ts'
import { below, readText, realOf, workspaceOf } from './files.ts'
import { readInputs, readVarsFiles } from './inputs.ts'
import type { DocumentOptions } from './options.ts'

/** A document as read, and the files that it names. */
export interface LoadedDocument {
  /** Workspace-relative where it lies in the workspace, else absolute: what the run's record keeps. */
  path: string
  absolute: string
  /** Canonical. */
  workspace: string
  document: WorkflowDocument
  /** Texts of the named files, by the names that the document gives them in the workspace. */
  files: { [path: string]: string }
  /** Absolute paths of those files. */
  sources: string[]
  warnings: Finding[]
}

/** Reads and parses a document. Throws FindingsError (exit 2) where the text is no document at all. */
export function loadDocument(context: Pick<Context, 'directory' | 'options'>, file: string): LoadedDocument {
  const workspace = workspaceOf(context)
  const named = resolve(context.directory, file)
  const text = readText(named, file)
  const absolute = realOf(named, file)
  const path = below(workspace, absolute) ?? absolute
  // A document outside the workspace has its files beside it.
  const [base, directory] = path === absolute ? [dirname(absolute), '.'] : [workspace, dirname(path)]
  const { document, diagnostics } = parseDocument({ text, file, directory })
  if (document === null) throw new FindingsError(diagnostics)
  const { files, sources } = readNamed(base, document)
  const warnings = diagnostics.filter(({ severity }) => severity === 'warning')
  return { path, absolute, workspace, document, files, sources, warnings }
}

export interface Compiled {
  loaded: LoadedDocument
  /** null where there is any error. */
  plan: Plan | null
  findings: Finding[]
}

/**
 * Loads and compiles a document with the inputs and variables of the command line. Without a floor the plan is the same
 * on every machine; a run is compiled under the floor of its host. That of the repository lives on its default branch,
 * where the control plane reads it.
 */
export async function compileDocument(
  context: Pick<Context, 'directory' | 'options'>,
  file: string,
  options: DocumentOptions,
  { requireInputs = true, floor = null }: { requireInputs?: boolean; floor?: Floor | null } = {},
): Promise<Compiled> {
  const loaded = loadDocument(context, file)
  const { document, files, warnings } = loaded
  const inputs = readInputs(context.directory, options)
  const vars = readVarsFiles(context.directory, options)
  const [jsonSchemas, versions] = await Promise.all([jsonSchemasFor(document), versionsFor(document)])
  const { plan, diagnostics } = compile({ document, inputs, files, floor, vars, requireInputs, jsonSchemas, versions })
  return { loaded, plan, findings: inOrder([...warnings, ...diagnostics]) }
}

/** As `compileDocument`, where only a plan will do. Throws FindingsError, exit 2. */
export async function planOf(
  context: Pick<Context, 'directory' | 'options'>,
  file: string,
  options: DocumentOptions,
  floor: Floor | null = null,
): Promise<Compiled & { plan: Plan }> {
  const compiled = await compileDocument(context, file, options, { floor })
  const { plan } = compiled
  if (plan === null) throw new FindingsError(compiled.findings)
  return { ...compiled, plan }
}

/**
 * Digest of the document that a run was started on, as it is now: null where it is not there to compare with. Throws
 * CliError or FindingsError, exit 2, where it is there and cannot be read.
 */
export function presentDigest(context: Pick<Context, 'directory' | 'options'>, recorded: string): string | null {
  const absolute = resolve(workspaceOf(context), recorded)
  try {
    const { document, files } = loadDocument(context, absolute)
    return workflowDigest(document, files)
  } catch (error) {
    if (error instanceof CliError && /does not exist$/.test(error.message)) return null
    throw error
  }
}

/** A named file that is not there is left out: the compiler says so at its place in the document. */
function readNamed(base: string, document: WorkflowDocument): Pick<LoadedDocument, 'files' | 'sources'> {
  const sources: string[] = []
  const files = readNamedFiles(document, name => {
    let absolute: string
    try {
      absolute = realOf(join(base, name), name)
    } catch {
      return null
    }
    if (below(base, absolute) === null)
      throw new CliError('unreadable_file', `${name} leads out of ${base}`, {
        help: 'name a file below the directory of the document, without links that leave it',
        file: name,
      })
    const text = readText(absolute, name)
    sources.push(absolute)
    return text
  })
  return { files, sources }
}

function inOrder(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((one, other) => one.line - other.line || one.column - other.column)
}
