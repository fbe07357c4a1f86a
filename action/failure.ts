import { LedgerError } from '../ledger/port.ts'
import { describeError } from '../policy/redact.ts'
import { OwnCallError } from '../runner/network/own-error.ts'

/** Exit codes of faults that end the Action before or beside a run (01, Exit codes). */
export const exits = { usage: 2, denied: 3, failed: 4, persistence: 5, cancelled: 130 } as const

/** A refusal or fault that ends the Action. The message names the subject; `help` what to change, a YAML line where one helps. */
export class ActionError extends Error {
  override readonly name = 'ActionError'
  readonly code: string
  readonly exitCode: number
  readonly help: string
  constructor(code: string, message: string, { exitCode = exits.usage as number, help = '' } = {}) {
    super(message)
    this.code = code
    this.exitCode = exitCode
    this.help = help
  }
}

/** What any thrown thing means at this face: code, exit code, and text for a person. Never throws. */
export function describeFailure(thrown: unknown): { code: string; exitCode: number; message: string; help: string } {
  if (thrown instanceof ActionError) {
    const { code, exitCode, message, help } = thrown
    return { code, exitCode, message, help }
  }
  if (thrown instanceof LedgerError)
    return { code: thrown.code, exitCode: exits.persistence, message: thrown.message, help: '' }
  if (thrown instanceof OwnCallError) {
    const help = 'nothing acknowledged is lost; re-run the job once the address answers'
    return { code: thrown.code, exitCode: exits.persistence, message: thrown.message, help }
  }
  return { code: 'internal', exitCode: exits.failed, message: textOf(thrown), help: '' }
}

/** Text of whatever was thrown, circular and foreign values included. Never throws. */
export function textOf(thrown: unknown): string {
  return thrown instanceof Error ? describeError(thrown) : `not an Error: ${describeError(thrown)}`
}
