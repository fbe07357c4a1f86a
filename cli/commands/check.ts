import type { Handler } from '../command.ts'
import { compileDocument } from '../document.ts'
import { exits } from '../failure.ts'
import { documentOptionsSchema } from '../options.ts'
import { countOf } from '../output/findings.ts'

/** `check FILE`: every fault of a document at once; an input without a value is only a warning here. */
export const check: Handler = async (context, [file = ''], options) => {
  const { plan, findings } = compileDocument(context, file, documentOptionsSchema.parse(options), {
    requireInputs: false,
  })
  const count = countOf(findings)
  const said = plan === null ? `${file}: ${count}` : `${file} is valid${count === '' ? '' : ` (${count})`}`
  return {
    kind: 'CheckResult',
    exitCode: plan === null ? exits.usage : exits.done,
    data: { file, valid: plan !== null, workflowDigest: plan?.workflowDigest ?? null },
    findings,
    lines: [[[plan === null ? 'red' : 'green', said]]],
  }
}
