import type { SecretReference } from '../plan.ts'
import type { Path } from '../yaml/tree.ts'
import type { Work } from './work.ts'

/** Checks every secret reference of the document against the lists of its policy: one that could never be read is a fault. */
export function checkSecrets(work: Work): void {
  const { spec } = work.document.workflow
  if (work.document.lost.has('policy')) return
  for (const [name, { credential }] of Object.entries(spec.providers)) {
    if (credential !== undefined) checkSecret(work, ['spec', 'providers', name, 'credential'], credential)
  }
  for (const part of ['providers', 'mcpServers', 'a2aPeers'] as const) {
    const definitions: { [name: string]: { headers: { [header: string]: SecretReference } } } = spec[part]
    for (const [name, { headers }] of Object.entries(definitions)) {
      for (const [header, reference] of Object.entries(headers)) {
        checkSecret(work, ['spec', part, name, 'headers', header], reference)
      }
    }
  }
  for (const [name, { secrets }] of Object.entries(spec.tools)) {
    for (const [index, reference] of secrets.entries())
      checkSecret(work, ['spec', 'tools', name, 'secrets', index], reference)
  }
  for (const [name, { env }] of Object.entries(spec.actions)) {
    for (const [variable, reference] of Object.entries(env)) {
      const path = ['spec', 'actions', name, 'env', variable]
      if (!variableName.test(variable))
        refuse(work, path, `\`${variable}\` is no name of a variable`, 'letters, digits and `_`, no digit first')
      checkSecret(work, path, reference)
    }
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
    const { command } = reference.process
    const basename = command.slice(command.lastIndexOf('/') + 1)
    if (!secretProcessAllowlist.some(entry => entry === basename || entry === command)) {
      refuse(
        work,
        path,
        `the secret helper \`${basename}\` is not in secretProcessAllowlist of the policy`,
        'add it to spec.policy.secretProcessAllowlist',
      )
    }
  }
}

function refuse(work: Work, path: Path, message: string, help: string): void {
  work.reporter.report(path, { code: 'invalid_secret_reference', message, help })
}
