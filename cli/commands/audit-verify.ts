import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { verifyAudit } from '../../ledger/index.ts'
import type { Handler } from '../command.ts'
import { CliError, exits, finding } from '../failure.ts'
import { realOf } from '../files.ts'

const optionsSchema = z.object({ expectedHead: z.string().optional() })

/** `audit verify FILE`: needs no ledger; names the first event that is not what it was. */
export const auditVerify: Handler = async (context, [file = ''], given) => {
  const { expectedHead } = optionsSchema.parse(given)
  if (expectedHead !== undefined && !/^[0-9a-f]{64}$/.test(expectedHead))
    throw new CliError('usage', '--expected-head takes 64 lower-case hex digits', { help: 'see audit show or inspect' })
  const path = realOf(resolve(context.directory, file), file)
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
  let verdict: Awaited<ReturnType<typeof verifyAudit>>
  try {
    verdict = await verifyAudit(lines, expectedHead)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === '') throw error
    throw new CliError('unreadable_file', `${file} cannot be read (${code})`, {
      help: 'check the path and the file',
      file,
    })
  }
  if (verdict.ok) {
    const { events, head } = verdict
    const lines = [[['green', 'verified'], ` ${events} events, head ${head}`] as const]
    return { kind: 'AuditVerdict', exitCode: exits.done, data: { verified: true, events, head }, findings: [], lines }
  }
  const { at, reason } = verdict
  return {
    kind: 'AuditVerdict',
    exitCode: exits.failed,
    data: { verified: false, at, reason },
    findings: [
      finding('audit_broken', `event ${at.seq} of ${at.chain}: ${reason}`, {
        file,
        help: 'the trail was changed or cut after it was written: keep the file, and export again from the ledger',
      }),
    ],
    lines: [],
  }
}
