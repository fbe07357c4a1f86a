import { kinds } from '../compile/kinds.ts'
import type { Spec } from '../schema/spec.ts'
import type { LoadedPack } from './loaded.ts'

/**
 * No signature of packs is defined, so every pack is unsigned: `packTrust` says whether such a pack may be used at all,
 * and whether one that has process actions may.
 */
export function checkTrust(packs: readonly LoadedPack[], { unsigned, allowUnsignedProcess }: Spec['packTrust']): void {
  for (const { name, manifest, at, by } of packs) {
    if (unsigned === 'deny')
      by.reporter.report(at, {
        code: 'policy_denied',
        message: `pack \`${name}\` is unsigned, which packTrust.unsigned: deny refuses`,
        help: 'leave the pack out, or review it and write packTrust.unsigned: warn or allow',
      })
    else if (unsigned === 'warn')
      by.reporter.report(at, {
        code: 'policy_denied',
        severity: 'warning',
        message: `pack \`${name}\` is unsigned; packTrust.unsigned: warn lets it be used`,
        help: 'pin it by its integrity, and write packTrust.unsigned: allow once it is reviewed',
      })
    const processes = Object.entries(manifest.actions).filter(([, { kind }]) => kinds[kind].process)
    if (processes.length === 0 || allowUnsignedProcess) continue
    const names = processes.map(([action]) => `\`${action}\``).join(', ')
    by.reporter.report(at, {
      code: 'policy_denied',
      message: `unsigned pack \`${name}\` has process actions (${names}), which packTrust.allowUnsignedProcess: false refuses`,
      help: 'review the pack, then write packTrust.allowUnsignedProcess: true; the policy still decides about each process',
    })
  }
}
