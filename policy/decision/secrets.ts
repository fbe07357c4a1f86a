import type { CompiledPolicy } from './compiled.ts'
import type { SecretFileFact, SecretHelperFact, Unknown } from './facts.ts'
import { refusedProgram } from './programs.ts'
import type { Refusal } from './refusal.ts'

/** Rules of a policy for secret files and for the helpers that print secrets. */
export type SecretRules = Pick<CompiledPolicy, 'secretFileRoots' | 'helpers' | 'helperFiles'>

/**
 * Why a secret file or a secret helper may not be used, null where it may (02, Secrets). What lies outside the lists is
 * told nothing about: neither whether it is there nor what it is.
 */
export function refusedSecret(rules: SecretRules, fact: SecretFileFact | SecretHelperFact): Refusal | null {
  const refusal = refusedSource(rules, fact)
  if (refusal !== null || !('file' in fact) || fact.sha256 !== null) return refusal
  return fixed(
    { known: false, cause: 'missing_facts', detail: `${JSON.stringify(fact.file)} was not read` },
    'file',
    files,
  )
}

/** The same as far as it can be told without reading the file. */
export function refusedSource(rules: SecretRules, fact: SecretFileFact | SecretHelperFact): Refusal | null {
  return 'file' in fact ? refusedFile(rules, fact) : refusedHelper(rules, fact)
}

const beforeRoots: ReadonlySet<string> = new Set(['parent_traversal', 'nul_byte', 'empty_path'])

function refusedFile({ secretFileRoots }: SecretRules, { file, root, fault }: SecretFileFact): Refusal | null {
  if (fault !== undefined && beforeRoots.has(fault.cause)) return fixed(fault, 'file', files)
  if (root !== null && secretFileRoots.has(root)) return fault === undefined ? null : fixed(fault, 'file', files)
  const field = 'secretFileRoots'
  if (fault?.cause === 'root_unusable') return { rule: field, field, detail: fault.detail, change: 'correct the entry' }
  const detail = `the real place of the secret file ${JSON.stringify(file)} lies under no secret root`
  return { rule: field, field, detail, change: 'name its directory' }
}

function refusedHelper({ helpers, helperFiles }: SecretRules, { helper, program }: SecretHelperFact): Refusal | null {
  const field = 'secretProcessAllowlist'
  if (!program.known) {
    const basename = helper.slice(helper.lastIndexOf('/') + 1)
    if (helpers.has(basename) || helperFiles.size > 0) return fixed(program, 'helper', programs)
    const detail = `the secret helper \`${basename}\` is not on the list`
    return { rule: field, field, detail, change: `add \`${basename}\`` }
  }
  const refusal = refusedProgram({ field, names: helpers, files: helperFiles }, program)
  return refusal && { ...refusal, detail: `the secret helper ${JSON.stringify(helper)}: ${refusal.detail}` }
}

type Remedies = { readonly [cause: string]: string }

const files: Remedies = {
  parent_traversal: 'write its path without `..`',
  nul_byte: 'write its path without a NUL byte',
  empty_path: 'name the file',
  not_found: 'put the file there before the run',
  dangling_symlink: 'remove the link or make its target',
  symlink_loop: 'name the file itself',
  not_directory: 'every component before the last must be a directory',
  is_directory: 'name the file in it',
  not_regular: 'name a regular file',
  not_permitted: "let agentctl's user read it",
  secret_too_large: 'give a file of at most 64 KiB',
  secret_not_utf8: 'give it as UTF-8 text, in base64 where it is binary',
  secret_holds_nul: 'give it without a NUL byte, in base64 where it is binary',
  empty_secret: 'put the value into the file',
  secret_refused: 'use a value of 4 characters or more',
  file_changed: 'let nothing write to it during the run',
}

const programs: Remedies = {
  command_not_found: 'install the helper, or correct the command',
  command_is_directory: 'name a program',
  command_not_executable: "make it a program that this host can run and agentctl's user may read",
  bad_interpreter: 'correct its first line',
}

function fixed({ cause, detail }: Unknown, what: 'file' | 'helper', remedies: Remedies): Refusal {
  const change = remedies[cause] ?? 'make it readable to agentctl, or give the secret in another way'
  const told = detail === '' ? 'it is not known' : detail
  return {
    rule: cause === '' ? 'missing_facts' : cause,
    field: null,
    detail: `the secret ${what}${told.startsWith('"') ? ' ' : ': '}${told}`,
    change,
  }
}
