import { describeError } from '../../policy/redact.ts'
import { loadNative } from './linux.ts'

/** PR_SET_DUMPABLE 0 in a process that starts none of its own; null, or why it cannot be had. Never throws. */
export function forbidDump(): string | null {
  const layer = loadNative()
  if ('absent' in layer) return layer.absent
  try {
    layer.native.forbidDump()
    return null
  } catch (error) {
    return describeError(error)
  }
}
