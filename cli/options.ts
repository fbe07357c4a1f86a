import { z } from 'zod'
import { CliError } from './failure.ts'

/** Ledger of a command that names none, relative to the current directory. */
export const defaultLedgerFile = '.agentctl/runtime.db'

/** Options that every command takes. */
const globalOptionsSchema = z.object({
  output: z.enum(['human', 'json']),
  color: z.enum(['auto', 'always', 'never']),
  /** Relative to the current directory. */
  db: z.string().min(1),
  /** Relative to the current directory; that itself by default. */
  workspace: z.string().min(1).default('.'),
})
export type GlobalOptions = z.infer<typeof globalOptionsSchema>

/** Throws CliError, exit 2, naming the option that is not as it must be. */
export function globalOptionsOf(given: unknown): GlobalOptions {
  const parsed = globalOptionsSchema.safeParse(given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new CliError('usage', `--${issue?.path.join('.') ?? ''} is empty or none of its values`, {
    help: 'see agentctl --help',
  })
}

/** Options of the commands that compile a document. */
export const documentOptionsSchema = z.object({
  input: z.array(z.string()).default([]),
  inputsFile: z.string().optional(),
  varsFile: z.array(z.string()).default([]),
})
export type DocumentOptions = z.infer<typeof documentOptionsSchema>

/** Whether the envelope is wanted, known before the command line is understood so that its faults come as one too. */
export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  const options = end === -1 ? argv : argv.slice(0, end)
  return options.some(
    (word, index) => word === '--output=json' || (word === 'json' && options[index - 1] === '--output'),
  )
}
