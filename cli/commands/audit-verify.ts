import { resolve } from 'node:path'
import { z } from 'zod'
import { verifyAudit } from '../../ledger/index.ts'
import type { Handler } from '../command.ts'
import { CliError, exits, finding } from '../failure.ts'
import { linesOf } from '../lines.ts'

const optionsSchema = z.object({ expectedHead: z.string().optional() })

/** `audit verify FILE`: needs no ledger; names the first event that is not what it was. */
export const auditVerify: Handler = async (context, [file = ''], given) => {
  const { expectedHead } = optionsSchema.parse(given)
  if (expectedHead !== undefined && !/^[0-9a-f]{64}$/.test(expectedHead))
    throw new CliError('usage', '--expected-head takes 64 lower-case hex digits', { help: 'see audit show or inspect' })
  const verdict = await verifyAudit(linesOf(resolve(context.directory, file), file), expectedHead)
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
