import { type Digest, digest, sha256 } from '../../canonical.ts'
import type { WorkflowDocument } from '../document.ts'
import { packFiles } from '../packs/load.ts'
import { inWorkspace } from './in-workspace.ts'

/** A file that the document names, and where it names it. */
export interface NamedFile {
  /** As written, relative to the document's directory. */
  written: string
  /** Workspace-relative, normalised; null where it leads out or is absolute. */
  path: string | null
  /** Where in the document. */
  at: (string | number)[]
}

/** Texts of files by their workspace-relative names. */
export type Files = { readonly [path: string]: string }

/**
 * Workspace-relative files that the document names, each once, in its order, and those that packs among `files` name:
 * what `compile` reads.
 */
export function filesOf(document: WorkflowDocument, files: Files): string[] {
  const paths = namedFiles(document).flatMap(file => (file.path === null ? [] : [file.path]))
  return [...new Set([...packFiles(document, files), ...paths])]
}

/** Reads every file that the document names, and those that these name; `read` gives null for one that is not there. */
export function readNamedFiles(
  document: WorkflowDocument,
  read: (path: string) => string | null,
): { [path: string]: string } {
  const files: { [path: string]: string } = {}
  const asked = new Set<string>()
  for (;;) {
    const next = filesOf(document, files).filter(path => !asked.has(path))
    if (next.length === 0) return files
    for (const path of next) {
      asked.add(path)
      const text = read(path)
      if (text !== null) files[path] = text
    }
  }
}

/**
 * Digest of the document's value and of the files that it names; it does not change with layout, comments or key order.
 * A named file that is not among `files` counts as absent.
 */
export function workflowDigest(document: WorkflowDocument, files: Files): Digest {
  const digests: { [path: string]: Digest } = {}
  for (const path of filesOf(document, files)) {
    if (Object.hasOwn(files, path)) digests[path] = sha256(files[path] ?? '')
  }
  return digest({ document: document.value, files: digests })
}

/** Every mention of a file, in the order of the document. */
export function namedFiles(document: WorkflowDocument): NamedFile[] {
  const { spec } = document.workflow
  const found: NamedFile[] = []
  const add = (list: readonly string[], at: (string | number)[]): void => {
    for (const [index, written] of list.entries()) {
      found.push({ written, path: inWorkspace(document.directory, written), at: [...at, index] })
    }
  }
  add(spec.varsFiles, ['spec', 'varsFiles'])
  const addTasks = (tasks: typeof spec.tasks, at: (string | number)[]): void => {
    for (const [index, task] of tasks.entries()) {
      if (task.varsFiles !== undefined) add(task.varsFiles, [...at, index, 'varsFiles'])
    }
  }
  addTasks(spec.tasks, ['spec', 'tasks'])
  for (const [name, { tasks }] of Object.entries(spec.subworkflows))
    addTasks(tasks, ['spec', 'subworkflows', name, 'tasks'])
  return found
}
