import type { Context } from './command.ts'
import { defaultLedgerFile } from './options.ts'

type Given = Pick<Context, 'options'>

/** A command to type next on the same ledger: options that this one was given and that the next one needs go with it. */
export function ledgerCommand({ options }: Given, words: string): string {
  return `agentctl ${words}${options.db === defaultLedgerFile ? '' : ` --db ${quoted(options.db)}`}`
}

/** `agentctl resume RUN` in the workspace of this command. */
export function resumeCommand(context: Given, run: string): string {
  const { workspace } = context.options
  return ledgerCommand(context, `resume ${run}${workspace === '.' ? '' : ` --workspace ${quoted(workspace)}`}`)
}

/** One word of a POSIX shell. */
function quoted(word: string): string {
  return /^[\w./@%+,:=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
