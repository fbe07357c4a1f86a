import { type Digest, digest, sha256 } from '../../canonical.ts'
import type { WorkflowDocument } from '../document.ts'

/** A file that the document names, and where it names it. */
export interface NamedFile {
  /** As written, relative to the document's directory. */
  written: string
  /** Workspace-relative, normalised; null where it leads out or is absolute. */
  path: string | null
  /** Where in the document. */
  at: (string | number)[]
}

/** Workspace-relative files that the document names, each once, in its order: what the caller reads for `compile`. */
export function filesOf(document: WorkflowDocument): string[] {
  const paths = namedFiles(document).flatMap(file => (file.path === null ? [] : [file.path]))
  return [...new Set(paths)]
}

/**
 * Digest of the document's value and of the files that it names; it does not change with layout, comments or key order.
 * A named file that is not among `files` counts as absent.
 */
export function workflowDigest(document: WorkflowDocument, files: { readonly [path: string]: string }): Digest {
  const digests: { [path: string]: Digest } = {}
  for (const path of filesOf(document)) {
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

/** `name` below `directory`, `/`-separated; null where it is absolute, leads upwards or holds a template. */
export function inWorkspace(directory: string, name: string): string | null {
  if (name.startsWith('/') || name.includes('\\') || name.includes('\0') || name.includes('${{')) return null
  const parts = name.split('/').filter(part => part !== '' && part !== '.')
  if (parts.length === 0 || parts.includes('..')) return null
  const base = directory.split('/').filter(part => part !== '' && part !== '.')
  return [...base, ...parts].join('/')
}
