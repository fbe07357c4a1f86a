import type { Context, Handler } from '../command.ts'
import { type Compiled, compileDocument } from '../document.ts'
import { exits, FindingsError } from '../failure.ts'
import { type DocumentOptions, documentOptionsSchema } from '../options.ts'
import { countOf } from '../output/findings.ts'

/** `check FILE`: every fault of a document at once; an input without a value is only a warning here. */
export const check: Handler = async (context, [file = ''], options) => {
  const { plan, findings } = await checked(context, file, documentOptionsSchema.parse(options))
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

/** A text that is no document at all is a finding as any other. */
async function checked(
  context: Context,
  file: string,
  options: DocumentOptions,
): Promise<Pick<Compiled, 'plan' | 'findings'>> {
  try {
    return await compileDocument(context, file, options, { requireInputs: false })
  } catch (error) {
    if (error instanceof FindingsError) return { plan: null, findings: error.findings }
    throw error
  }
}
