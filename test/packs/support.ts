import { createHash } from 'node:crypto'
import { workflow } from '../document/support.ts'

/** A manifest: its own lines below the four that every pack has. */
export function pack(name: string, rest: string, { version = '1.2.0', agentctl = '^0.3' } = {}): string {
  return `apiVersion: agentctl.dev/pack/v1alpha1\nname: ${name}\nversion: ${version}\nagentctl: "${agentctl}"\n${rest}\n`
}

export function integrityOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}

export interface Declared {
  name?: string
  version?: string
  path?: string
  integrity?: string
}

/** One entry of `spec.packs`. */
export function declared({
  name = 'acme.tools',
  version = '^1.0',
  path = 'tools.yaml',
  integrity,
}: Declared = {}): string {
  const pin = integrity === undefined ? '' : `, integrity: "${integrity}"`
  return `{name: ${name}, version: "${version}", source: {path: ${path}}${pin}}`
}

/** A document with packs and one task; `uses` is the task's. */
export function using(
  packs: string | string[],
  uses = 'action:acme.tools.assign',
  more = 'packTrust: {unsigned: allow}',
): string {
  return workflow(`
    packs: [${[packs].flat().join(', ')}]
    tasks: [{id: a, uses: "${uses}", with: {value: 1}}]
    ${more}
  `)
}

/** The smallest pack. */
export const assign = pack('acme.tools', 'actions: {assign: {kind: builtin.assign}}')
