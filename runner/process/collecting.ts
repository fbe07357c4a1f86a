import type { EffectResult } from '../executor.ts'
import { collectArtifacts, listArtifacts } from './collect-artifacts.ts'
import type { ReadyProcess } from './prepare.ts'

/**
 * Looks at what the action's `artifacts` match now. What it answers adds to a success the files that were left since, or
 * fails it where they may not be kept.
 */
export function collecting({ host, request, command }: ReadyProcess): (result: EffectResult) => EffectResult {
  const { artifacts: globs } = command
  if (globs.length === 0) return result => result
  const before = listArtifacts(host.workspace, globs)
  return result => {
    if (result.kind !== 'succeeded') return result
    const bytesLeft = request.artifactBytesLeft ?? Number.MAX_SAFE_INTEGER
    const collected = collectArtifacts(host.workspace, globs, before, host.secrets.redactor, bytesLeft)
    if (collected.ok) return { ...result, artifacts: collected.artifacts }
    const { code, message } = collected
    return { kind: 'failed', code, message, output: result.output, retrySafe: false }
  }
}
