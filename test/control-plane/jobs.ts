import type { JobResult, RunContext, Workflow } from '../github/index.ts'

/** A job of the double that is open: its test acts in its place, then ends it. */
export interface OpenJob {
  context: RunContext
  job: JobResult
  /** GitHub's OIDC token for this audience. */
  oidc(audience: string): Promise<string>
  /** Body of POST /v1/attach. */
  request: { [name: string]: unknown }
  /** Ends the step; a paused step of ours fails. */
  end(conclusion: 'success' | 'failure'): void
}

export const documentPath = '.agentctl/flow.yaml'
export const workflowPath = '.github/workflows/gate.yml'

/** Hands out the jobs of a workflow as the double starts them. */
export class Desk {
  readonly #open: OpenJob[] = []
  readonly #waiting: ((job: OpenJob) => void)[] = []
  readonly #findJob: (run: number, attempt: number, key: string, axis: string) => JobResult

  constructor(findJob: (run: number, attempt: number, key: string, axis: string) => JobResult) {
    this.#findJob = findJob
  }

  /** One job `gate`, dispatchable, with the permissions that the README asks for. */
  workflow(change: Partial<Workflow> = {}): Workflow {
    return {
      name: 'gate',
      path: workflowPath,
      on: ['push', 'workflow_dispatch'],
      inputs: { 'agentctl-run': { required: false, default: '' } },
      permissions: { contents: 'read', 'id-token': 'write', issues: 'write' },
      jobs: { gate: { steps: [this.step()] } },
      ...change,
    }
  }

  step(): { id: string; run: (context: RunContext) => Promise<void> } {
    return { id: 'agentctl', run: context => this.#begin(context) }
  }

  next(): Promise<OpenJob> {
    const first = this.#open.shift()
    if (first !== undefined) return Promise.resolve(first)
    const { promise, resolve } = Promise.withResolvers<OpenJob>()
    this.#waiting.push(resolve)
    return promise
  }

  #begin(context: RunContext): Promise<void> {
    const { environment: env } = context
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    context.signal.addEventListener('abort', () => reject(new Error('cancelled')))
    const axis = Object.values(context.matrix ?? {}).join(', ')
    const job = this.#findJob(Number(env['GITHUB_RUN_ID']), context.attempt, env['GITHUB_JOB'] ?? '', axis)
    const sha = env['GITHUB_SHA'] ?? ''
    const open: OpenJob = {
      context,
      job,
      async oidc(audience) {
        const url = `${env['ACTIONS_ID_TOKEN_REQUEST_URL']}&audience=${encodeURIComponent(audience)}`
        const authorization = `Bearer ${env['ACTIONS_ID_TOKEN_REQUEST_TOKEN']}`
        const response = await fetch(url, { headers: { authorization } })
        const { value } = (await response.json()) as { value: string }
        return value
      },
      request: {
        version: 1,
        document: documentPath,
        step: env['GITHUB_ACTION'] ?? 'agentctl',
        job: env['GITHUB_JOB'],
        jobId: job.id,
        matrixDigest: '0'.repeat(64),
        commit: { sha, head: sha },
        agentctlRun: null,
        settings: {},
      },
      end: conclusion => (conclusion === 'success' ? resolve() : reject(new Error('paused'))),
    }
    const taker = this.#waiting.shift()
    if (taker !== undefined) taker(open)
    else this.#open.push(open)
    return promise
  }
}
