import type { ReadStream, WriteStream } from 'node:tty'
import type { Json } from '../policy/json.ts'
import type { Clock, Ids } from '../policy/ports.ts'
import type { GlobalOptions } from './options.ts'
import type { Line } from './output/text.ts'

/** The process around a command, as far as commands may see it. */
export interface Base {
  /** What relative paths on the command line are relative to. */
  directory: string
  environment: { readonly [name: string]: string | undefined }
  /** Numeric id of the local user; recorded as `local:<uid>`. */
  user: number
  stdin: NodeJS.ReadStream | ReadStream
  stdout: NodeJS.WriteStream | WriteStream
  stderr: NodeJS.WriteStream | WriteStream
  clock: Clock
  ids: Ids
}

export interface Context extends Base {
  options: GlobalOptions
  /** Shows a line at once, on stderr, to a person; nothing with `--output json`. */
  tell(line: Line): void
  /** Says at once that a cancelled command has not ended in time, unless its end is said already. */
  tellOverdue(): void
}

/** One thing to be said, at its place in a file where it has one: the shape of a document's diagnostics. */
export interface Finding {
  code: string
  severity: 'error' | 'warning'
  message: string
  /** As the caller named it; empty where it is about no file. */
  file: string
  /** From 1; 0 where there is no place. */
  line: number
  column: number
  /** Dotted path in the document, or empty. */
  path: string
  /** What to do; empty when the message says it all. */
  help: string
}

/** What a command comes to; one place prints it, as text or as the envelope. */
export interface CommandResult {
  /** Envelope's kind. */
  kind: string
  exitCode: number
  data: Json
  findings: Finding[]
  /** What a person reads on stdout. */
  lines: Line[]
  /** The command has written its own output: nothing else is printed on success. */
  isWritten?: boolean
}

/** A command's code: operands and options as the command line gave them. */
export type Handler = (context: Context, operands: readonly string[], options: unknown) => Promise<CommandResult>
