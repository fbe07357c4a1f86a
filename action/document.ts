import { existsSync, statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import type { Floor } from '../policy/decision/index.ts'
import type { Diagnostic } from '../policy/document/diagnostic.ts'
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
import { ActionError } from './failure.ts'
import { readText, withinCheckout } from './files.ts'
import type { Inputs } from './inputs.ts'

/** The document of this checkout, read once, and where it runs. */
export interface LoadedDocument {
  /** Relative to the checkout, `/`-separated: part of the instance. */
  path: string
  absolute: string
  /** Canonical directory that the run has as its workspace. */
  workspace: string
  document: WorkflowDocument
  /** Texts of the files that the document names, by their names. */
  files: { [path: string]: string }
  /** Absolute paths of those files. */
  sources: string[]
  /** Paths of those files relative to the checkout, by their names. */
  places: ReadonlyMap<string, string>
  digest: string
  warnings: Diagnostic[]
}

/** A document that does not parse or compile: exit 2, every finding kept for the annotations. */
export class DocumentError extends ActionError {
  readonly diagnostics: Diagnostic[]
  constructor(path: string, diagnostics: Diagnostic[]) {
    const errors = diagnostics.filter(diagnostic => diagnostic.severity === 'error')
    const first = errors[0]
    const place = first === undefined ? '' : `: ${first.file}:${first.line}:${first.column} ${first.message}`
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
    super('invalid_document', `${path} cannot run${place}${more}`, { help: first?.help ?? '' })
    this.diagnostics = diagnostics
  }
}

/** Reads and parses what input `workflow` names. Throws ActionError or DocumentError, exit 2. */
export function loadDocument(inputs: Inputs, checkout: string): LoadedDocument {
  const root = withinCheckout(checkout, '.', 'workflow')
  const absolute = withinCheckout(checkout, inputs.workflow, 'workflow')
  const workspace = withinCheckout(checkout, inputs['working-directory'], 'working-directory')
  if (!statSync(workspace).isDirectory())
    throw new ActionError(
      'unreadable_file',
      `input working-directory: ${inputs['working-directory']} is not a directory`,
      {
        help: 'name a directory inside the checkout',
      },
    )
  const path = relative(root, absolute).split(sep).join('/')
  // A document outside the workspace has its files beside it.
  const beside = relative(workspace, dirname(absolute)).split(sep).join('/')
  const isOutside = beside === '..' || beside.startsWith('../')
  const [base, directory] = isOutside ? [dirname(absolute), '.'] : [workspace, beside || '.']
  const { document, diagnostics } = parseDocument({ text: readText(absolute, path), file: path, directory })
  if (document === null) throw new DocumentError(path, diagnostics)
  const named = readNamed(root, base, document)
  const digest = workflowDigest(document, named.files)
  return { path, absolute, workspace, document, ...named, digest, warnings: diagnostics }
}

/** The plan under a floor; throws DocumentError (exit 2) with every finding. */
export async function compilePlan(
  loaded: LoadedDocument,
  inputs: Inputs,
  floor: Floor | null,
): Promise<{ plan: Plan; warnings: Diagnostic[] }> {
  const { document, files } = loaded
  const [jsonSchemas, versions] = await Promise.all([jsonSchemasFor(document), versionsFor(document)])
  const compiled = compile({ document, inputs: inputs.inputs, files, floor, jsonSchemas, versions })
  const { plan } = compiled
  const diagnostics = compiled.diagnostics.map(one => placed(loaded, one))
  if (plan === null) throw new DocumentError(loaded.path, diagnostics)
  return { plan, warnings: diagnostics }
}

/** A finding in a file that the document names is shown where the repository has that file. */
function placed({ path, places }: LoadedDocument, finding: Diagnostic): Diagnostic {
  const place = finding.file === path ? undefined : places.get(finding.file)
  return place === undefined ? finding : { ...finding, file: place }
}

/** A named file that is not there is left out: the compiler says so at its place in the document. */
function readNamed(
  checkout: string,
  base: string,
  document: WorkflowDocument,
): Pick<LoadedDocument, 'files' | 'sources' | 'places'> {
  const sources: string[] = []
  const places = new Map<string, string>()
  const files = readNamedFiles(document, name => {
    if (!existsSync(join(base, name))) return null
    const absolute = withinCheckout(checkout, join(base, name), 'workflow')
    const text = readText(absolute, name)
    sources.push(absolute)
    places.set(name, relative(checkout, join(base, name)).split(sep).join('/'))
    return text
  })
  return { files, sources, places }
}
