import type { SecretReference } from '../plan.ts'
import { referencesIn } from '../secret-references.ts'
import type { Path } from '../yaml/tree.ts'
import type { Work } from './work.ts'

/** Checks every secret reference of the document against the lists of its policy: one that could never be read is a fault. */
export function checkSecrets(work: Work): void {
  const { spec } = work.document.workflow
  if (work.document.lost.has('policy')) return
  for (const { path, use, reference } of referencesIn(spec)) {
    const name = String(path.at(-1))
    if (use === 'variable' && !variableName.test(name))
      refuse(work, path, `\`${name}\` is no name of a variable`, 'letters, digits and `_`, no digit first')
    checkSecret(work, path, reference)
  }
}

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/

function checkSecret(work: Work, path: Path, reference: SecretReference): void {
  const { secretFileRoots = [], secretProcessAllowlist = [] } = work.document.workflow.spec.policy
  if ('env' in reference) {
    if (!variableName.test(reference.env)) {
      refuse(work, path, `\`${reference.env}\` is no name of a variable`, 'letters, digits and `_`, no digit first')
    }
  } else if ('file' in reference) {
    if (secretFileRoots.length === 0) {
      refuse(
        work,
        path,
        `the secret file ${reference.file} lies under no secretFileRoots of the policy`,
        'add its directory to spec.policy.secretFileRoots',
      )
    }
  } else {
    checkHelper(work, [...path, 'process'], reference.process, secretProcessAllowlist)
  }
}

function checkHelper(
  work: Work,
  path: Path,
  { command, args }: Extract<SecretReference, { process: unknown }>['process'],
  allowlist: readonly string[],
): void {
  const basename = command.slice(command.lastIndexOf('/') + 1)
  // Only the host tells which file an entry with a slash allows.
  if (!allowlist.some(entry => entry === basename || entry.includes('/'))) {
    refuse(
      work,
      path,
      `the secret helper \`${basename}\` is not in secretProcessAllowlist of the policy`,
      'add it to spec.policy.secretProcessAllowlist',
    )
  }
  const help = 'no process can be given it; remove it'
  if (command.includes('\0')) refuse(work, [...path, 'command'], 'the command holds a NUL byte', help)
  for (const [index, arg] of args.entries())
    if (arg.includes('\0')) refuse(work, [...path, 'args', index], 'the argument holds a NUL byte', help)
}

function refuse(work: Work, path: Path, message: string, help: string): void {
  work.reporter.report(path, { code: 'invalid_secret_reference', message, help })
}
