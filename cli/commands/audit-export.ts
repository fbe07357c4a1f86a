import { createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { LedgerError } from '../../ledger/port.ts'
import type { Handler } from '../command.ts'
import { CliError, exits } from '../failure.ts'
import { recordOf, withLedger } from '../ledger.ts'

const optionsSchema = z.object({ out: z.string().optional() })

/** `audit export [RUN]`: the trail as NDJSON, in constant memory. On stdout it stands alone, whatever `--output` says. */
export const auditExport: Handler = async (context, [run], given) => {
  const { out } = optionsSchema.parse(given)
  return withLedger(context, async ({ store }) => {
    if (run !== undefined) recordOf(store, run)
    let events = 0
    const lines = function* () {
      for (const line of store.exportLines(run)) {
        events += 1
        yield `${line}\n`
      }
    }
    const source = Readable.from(lines(), { objectMode: true })
    if (out === undefined) await pipeline(source, context.stdout, { end: false }).catch(ignoreGoneReader)
    else await pipeline(source, createWriteStream(resolve(context.directory, out), { flags: 'wx' })).catch(failed(out))
    const head = store.head(run === undefined ? 'ledger' : `run/${run}`)
    return {
      kind: 'AuditExport',
      exitCode: exits.done,
      data: { file: out ?? null, events, head },
      findings: [],
      lines: [`${events} events, head ${head}`],
      isWritten: out === undefined,
    }
  })
}

function ignoreGoneReader(error: unknown): void {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'EPIPE') return
  if (code === '' || error instanceof LedgerError) throw error
  throw new CliError('unwritable_output', `stdout cannot be written (${code}): the trail is not whole`, {
    exitCode: exits.persistence,
    help: 'free space where it goes, then export again',
  })
}

function failed(file: string): (error: unknown) => never {
  return error => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === '' || error instanceof LedgerError) throw error
    const why = code === 'EEXIST' ? 'exists already' : `cannot be written (${code})`
    throw new CliError('unwritable_file', `${file} ${why}`, { help: 'name a new file with --out', file })
  }
}
