import { summary } from '@actions/core'
import { describeFailure } from './failure.ts'
import { readInputs } from './inputs.ts'
import { readJob } from './job.ts'
import type { PostContext, Settled } from './post-context.ts'
import { escaped } from './summary.ts'

/** What the entry hands in; inputs and job are read from it. */
export type PostBase = Omit<PostContext, 'inputs' | 'job'>

/**
 * Settles what main left open when it ended without concluding, and says so: annotation, log, summary. It changes no
 * colour of the step: how that ended is decided already. Never throws.
 */
export async function afterMain(base: PostBase, read: (name: string) => string): Promise<void> {
  const { annotations, guard } = base
  let title = 'interrupted'
  let messages: string[]
  try {
    const settled = await settle(base, read)
    messages = [headline(settled), ...settled.messages]
  } catch (thrown) {
    const { code, message, help } = describeFailure(thrown)
    title = code
    messages = [
      `The step ended before it could say how its run ended, and this could not be settled: ${message}${help === '' ? '' : ` (${help})`}`,
      'The next attempt settles it: re-run this job. What had started and was not recorded is uncertain then.',
    ]
  }
  const shown = messages.map(text => guard.text(text))
  annotations.add({ level: 'error', title, message: shown.join('\n') })
  await tell(read('workflow'), shown).catch(() => {})
}

async function settle(base: PostBase, read: (name: string) => string): Promise<Settled> {
  const { left, guard } = base
  const { document, asker } = left
  if (document === null) return { run: null, state: null, messages: [] }
  const inputs = readInputs(read)
  const job = readJob(base.environment)
  guard.learn([inputs['github-token'], job.oidc?.token])
  const context = { ...base, inputs, job }
  const audience = inputs['control-plane-url']
  if (audience === null || job.oidc === null) {
    if (left.run === null) return { run: null, state: null, messages: [] }
    return (await import('./settle-local.ts')).settleLocal(context, left.run)
  }
  if (asker === null) return { run: null, state: null, messages: [] }
  const begun = { document, asker }
  return (await import('./settle-attached.ts')).settleAttached(context, { ...job.oidc, audience }, begun)
}

function headline({ run, state }: Settled): string {
  const began = 'The step ended before it could say how its run ended.'
  if (run === null) return `${began} It left no word of a run.`
  if (state === null) return `${began} Nothing is recorded of run ${run}.`
  return `${began} Run ${run} is ${state}.`
}

async function tell(document: string, messages: string[]): Promise<void> {
  if (!process.env['GITHUB_STEP_SUMMARY']) return
  const lines = [`## agentctl ${escaped(document)}: interrupted`, '', ...messages.map(text => `- ${escaped(text)}`), '']
  await summary.addRaw(lines.join('\n')).write()
}
