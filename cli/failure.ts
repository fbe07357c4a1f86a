import { LedgerError } from '../ledger/port.ts'
import { describeError } from '../policy/redact.ts'
import type { Finding } from './command.ts'

/** Exit codes of what ends a command beside a run's own end (01, Exit codes). */
export const exits = { done: 0, usage: 2, denied: 3, failed: 4, persistence: 5, cancelled: 130 } as const

/** A refusal that ends a command. The message names the subject, `help` what to change. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: string
  readonly exitCode: number
  readonly help: string
  /** The file that it is about, empty where none. */
  readonly file: string
  constructor(code: string, message: string, { exitCode = exits.usage as number, help = '', file = '' } = {}) {
    super(message)
    this.code = code
    this.exitCode = exitCode
    this.help = help
    this.file = file
  }
}

/** Findings that end a command with exit code 2: everything wrong with the files that it was given. */
export class FindingsError extends CliError {
  readonly findings: Finding[]
  constructor(findings: Finding[]) {
    super('invalid_document', findings[0]?.message ?? 'the document cannot be used')
    this.findings = findings
  }
}

/** What any thrown thing means at this face. Never throws. */
export function describeFailure(thrown: unknown): { exitCode: number; findings: Finding[] } {
  if (thrown instanceof FindingsError) return { exitCode: thrown.exitCode, findings: thrown.findings }
  if (thrown instanceof CliError) {
    const { exitCode, code, message, help, file } = thrown
    return { exitCode, findings: [finding(code, message, { help, file })] }
  }
  if (thrown instanceof LedgerError)
    return { exitCode: exits.persistence, findings: [finding(thrown.code, thrown.message)] }
  if (thrown instanceof Error && thrown.name === 'AbortError')
    return { exitCode: exits.cancelled, findings: [finding('cancelled', 'cancelled')] }
  return { exitCode: exits.failed, findings: [finding('internal', describeError(thrown))] }
}

/** An error about no place in a document. */
export function finding(code: string, message: string, more: Partial<Finding> = {}): Finding {
  return { code, severity: 'error', message, file: '', line: 0, column: 0, path: '', help: '', ...more }
}
