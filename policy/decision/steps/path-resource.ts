import type { PathFact, Unknown, WriteFact } from '../facts.ts'
import { type Answer, allow, deny, originOf, type Question, remedyFor } from '../question.ts'

const remedies: { [cause: string]: string } = {
  parent_traversal: 'write the path without `..`',
  symlink_escape: 'name a file whose real place is inside the workspace',
  symlink_loop: 'name the file itself, without the link',
  dangling_symlink: 'remove the link or make its target',
  not_found: 'create the file first, or correct the path',
  not_regular: 'name a regular file',
  not_directory: 'every component before the last must be a directory',
  is_directory: 'name a file',
  empty_path: 'name a file',
  nul_byte: 'write the path without a NUL byte',
  name_too_long: 'use a shorter name',
  not_permitted: "let agentctl's user read it",
  unicode_form: 'use the name that exists',
  unreadable_argument: "let agentctl's user read it, since a change of it could not be told",
  root_not_directory: 'name a directory in that entry',
  tilde: 'write that entry in full',
}

/** A fact that could not be had: its cause is the rule that refuses. */
export function unknownFact(fact: Unknown, subject: string): Answer {
  const remedy = remedies[fact.cause] ?? 'make the fact readable to agentctl, or change the task'
  return deny('resource', fact.cause || 'missing_facts', subject, 'runtime', fact.detail || 'it is not known', remedy)
}

/** A read stays under the workspace root; a link inside it is fine. */
export function readResource(question: Question, fact: PathFact): Answer {
  if (!fact.known) return unknownFact(fact, requestedPath(question))
  if (!isInside(fact.path)) {
    const detail = `its real place is ${fact.path}`
    return deny('resource', 'workspaceRoot', fact.requested, 'runtime', detail, 'name a file inside the workspace')
  }
  return allow('resource', 'workspaceRoot', fact.path, originOf(question, 'workspaceRoot'))
}

/** A write stays under a writable root of the policy and off everything that is never writable. */
export function writeResource(question: Question, fact: WriteFact): Answer {
  if (!fact.known) return unknownFact(fact, requestedPath(question))
  if (fact.protectedBy !== null) {
    const detail = `it is never writable (${fact.protectedBy})`
    return deny('resource', 'never_writable', fact.path, 'runtime', detail, 'write to another file')
  }
  const origin = originOf(question, 'writableRoots')
  if (fact.root !== null && question.compiled.writableRoots.has(fact.root)) {
    return allow('resource', 'writableRoots', fact.path, origin)
  }
  const remedy = remedyFor(question, 'writableRoots', 'name its directory')
  return deny('resource', 'writableRoots', fact.path, origin, 'it lies under no writable root', remedy)
}

function requestedPath(question: Question): string {
  const path = question.effect.input['path']
  return typeof path === 'string' ? path : question.effect.operation
}

function isInside(path: string): boolean {
  return (
    !path.startsWith('/') && path !== '..' && !path.startsWith('../') && !path.includes('/../') && !path.endsWith('/..')
  )
}
