import type { Diagnostic } from './diagnostic.ts'
import type { WorkflowDocument } from './document.ts'
import { withPacks } from './packs/index.ts'
import type { Versions } from './packs/versions.ts'
import type { SecretReference } from './plan.ts'
import type { Spec } from './schema/spec.ts'
import { locate } from './yaml/places.ts'
import { type Path, showPath } from './yaml/tree.ts'

/** What a secret is for: a variable needs both its names allowed, a credential none. */
export type SecretUse = 'variable' | 'header' | 'tool' | 'customCa' | 'credential'

/** One secret reference of a document. */
export interface ReferenceAt {
  path: Path
  use: SecretUse
  reference: SecretReference
}

/** Every secret reference of a document, whether something uses it or not. */
export function referencesIn(spec: Spec): ReferenceAt[] {
  const found: ReferenceAt[] = []
  const add = (use: SecretUse, path: Path, reference: SecretReference | undefined) => {
    if (reference !== undefined) found.push({ path: ['spec', ...path], use, reference })
  }
  add('customCa', ['policy', 'network', 'customCa'], spec.policy.network?.customCa)
  for (const [name, { credential }] of Object.entries(spec.providers))
    add('credential', ['providers', name, 'credential'], credential)
  for (const part of ['providers', 'mcpServers', 'a2aPeers'] as const) {
    const definitions: { [name: string]: { headers: { [header: string]: SecretReference } } } = spec[part]
    for (const [name, { headers }] of Object.entries(definitions))
      for (const [header, reference] of Object.entries(headers))
        add('header', [part, name, 'headers', header], reference)
  }
  for (const [name, { secrets }] of Object.entries(spec.tools))
    for (const [index, reference] of secrets.entries()) add('tool', ['tools', name, 'secrets', index], reference)
  for (const [name, { env }] of Object.entries(spec.actions))
    for (const [variable, reference] of Object.entries(env))
      add('variable', ['actions', name, 'env', variable], reference)
  return found
}

/** A reference as a person finds it: dotted path, file and place, from 1. */
export interface DocumentSecret {
  path: string
  /** Of a variable, its name in the child. */
  name: string
  use: SecretUse
  reference: SecretReference
  file: string
  line: number
  column: number
}

/** The secret references of a document and of its packs, `versions` as for `compile`; `errors` is what is wrong with the packs. */
export function documentSecrets(
  document: WorkflowDocument,
  files: { readonly [path: string]: string },
  versions: Versions | null,
): { secrets: DocumentSecret[]; errors: Diagnostic[] } {
  const { document: merged, placeOf, reporter, inPacks } = withPacks(document, files, versions)
  const secrets = referencesIn(merged.workflow.spec).map(({ path, use, reference }): DocumentSecret => {
    const { tree, path: own, file } = placeOf(path)
    const { line, column } = locate(tree, own).place
    return {
      path: showPath(path),
      name: String(path.at(-1)),
      use,
      reference,
      file: file ?? document.file,
      line,
      column,
    }
  })
  const errors = [...reporter.diagnostics(), ...inPacks()].filter(({ severity }) => severity === 'error')
  return { secrets, errors }
}
