import { type CallContext, callContext, callOutputs } from './call-context.ts'
import type { CallInstance } from './expand.ts'
import { type Contexts, holds } from './expressions.ts'
import { standsFor } from './jobs.ts'
import type { JobAttempt } from './state.ts'

/** How the jobs that others need have ended, as the `needs` context has it. */
export interface Need {
  result: 'success' | 'failure' | 'cancelled' | 'skipped'
  outputs: { readonly [name: string]: string }
}

/** What a group of jobs starts from. */
export interface Outcome {
  contexts(job: JobAttempt): Contexts
  /** Of what it needs, directly or not. */
  ancestors: { success: boolean; failure: boolean }
  /** false where the job that calls its workflow does not run. */
  goes: boolean
}

export interface NeedsPorts {
  jobs: readonly JobAttempt[]
  secrets: { readonly [name: string]: string }
  base(job: JobAttempt): Contexts
  status(): { cancelled: boolean }
  run(group: JobAttempt[], outcome: Outcome): Promise<void>
}

interface Ended extends Need {
  /** Whether it or anything that it needed has failed. */
  failed: boolean
}

interface Gate extends CallContext {
  goes: boolean
  failed: boolean
}

/** Lets every job wait for those that it needs, across the calls of reusable workflows; each group and call is decided once. */
export class Needs {
  readonly #ports: NeedsPorts
  readonly #groups = new Map<string, Promise<Ended>>()
  readonly #gates = new Map<string, Promise<Gate>>()

  constructor(ports: NeedsPorts) {
    this.#ports = ports
  }

  async all(): Promise<void> {
    await Promise.all(this.#ports.jobs.map(job => this.#group(job)))
  }

  #group(job: JobAttempt): Promise<Ended> {
    const known = this.#groups.get(job.group)
    if (known !== undefined) return known
    const ended = this.#runGroup(job)
    this.#groups.set(job.group, ended)
    return ended
  }

  async #runGroup(first: JobAttempt): Promise<Ended> {
    const group = this.#ports.jobs.filter(job => job.group === first.group)
    const gate = await this.#gate(first.call, first)
    const { needs, failed } = await this.#needs(first.definition.needs, first.call)
    const ancestors = {
      success: Object.values(needs).every(need => need.result === 'success'),
      failure: failed || gate.failed,
    }
    const { inputs, secrets } = gate
    const contexts = (job: JobAttempt): Contexts => ({
      ...this.#ports.base(job),
      ...(job.call && { inputs }),
      secrets: job.call ? secrets : this.#ports.secrets,
      needs,
      matrix: job.matrix,
      strategy: job.strategy,
    })
    await this.#ports.run(group, { contexts, ancestors, goes: gate.goes })
    const outputs = Object.assign({}, ...group.map(job => job.outputs)) as Need['outputs']
    const result = worst(group.map(job => job.conclusion ?? 'skipped'))
    return { result, outputs, failed: ancestors.failure || result === 'failure' }
  }

  /** Whether the job that calls a workflow runs, asked once, and what it hands on. */
  #gate(call: CallInstance | null, job: JobAttempt): Promise<Gate> {
    if (call === null) return Promise.resolve({ goes: true, failed: false, inputs: {}, secrets: this.#ports.secrets })
    const known = this.#gates.get(call.path)
    if (known !== undefined) return known
    const gate = this.#open(call, job)
    this.#gates.set(call.path, gate)
    return gate
  }

  async #open(call: CallInstance, job: JobAttempt): Promise<Gate> {
    const above = await this.#gate(call.parent, job)
    const { needs, failed } = await this.#needs(call.definition.needs, call.parent)
    const { cancelled } = this.#ports.status()
    const base = this.#ports.base(job)
    const inputs = call.parent === null ? base['inputs'] : above.inputs
    const contexts = { ...base, inputs, needs, matrix: call.matrix, strategy: call.strategy }
    const success = Object.values(needs).every(need => need.result === 'success')
    const status = { success: success && !cancelled, failure: (failed || above.failed) && !cancelled, cancelled }
    return {
      goes: above.goes && holds(call.definition.if, contexts, status),
      failed: failed || above.failed,
      ...callContext(call, contexts, above.secrets),
    }
  }

  async #needs(
    keys: readonly string[] = [],
    within: CallInstance | null,
  ): Promise<{ needs: { [key: string]: Need }; failed: boolean }> {
    const ended = await Promise.all(keys.map(async key => [key, await this.#need(key, within)] as const))
    const needs = Object.fromEntries(ended.map(([key, { result, outputs }]) => [key, { result, outputs }]))
    return { needs, failed: ended.some(([, { failed }]) => failed) }
  }

  async #need(key: string, within: CallInstance | null): Promise<Ended> {
    const jobs = this.#ports.jobs.filter(job => standsFor(job, key, within))
    const [first] = jobs
    if (first === undefined) throw new Error(`a job needs ${key}, which its workflow does not have`)
    if (first.call?.path === within?.path) return this.#group(first)
    const ended = await Promise.all(jobs.map(job => this.#group(job)))
    return {
      result: worst(ended.map(({ result }) => result)),
      outputs: Object.assign({}, ...calls(jobs, within).map(call => this.#outputsOf(call))),
      failed: ended.some(({ failed }) => failed),
    }
  }

  /** Outputs that a call which has ended gives to its caller. */
  #outputsOf(call: CallInstance): { [name: string]: string } {
    const keys = Object.keys(call.workflow.jobs).map(key => {
      const jobs = this.#ports.jobs.filter(job => standsFor(job, key, call))
      const nested = calls(jobs, call).map(inner => this.#outputsOf(inner))
      const own = jobs.filter(job => job.call?.path === call.path).map(job => job.outputs)
      const result = worst(jobs.map(job => job.conclusion ?? 'skipped'))
      return [key, { outputs: Object.assign({}, ...own, ...nested) as Need['outputs'], result }] as const
    })
    return callOutputs(call.workflow.call ?? {}, Object.fromEntries(keys))
  }
}

/** The calls directly within `within` that these jobs belong to. */
function calls(jobs: readonly JobAttempt[], within: CallInstance | null): CallInstance[] {
  const found = new Map<string, CallInstance>()
  for (const job of jobs)
    for (let call = job.call; call !== null; call = call.parent)
      if (call.parent?.path === within?.path) found.set(call.path, call)
  return [...found.values()]
}

function worst(results: readonly string[]): Need['result'] {
  for (const result of ['failure', 'cancelled'] as const) if (results.includes(result)) return result
  return results.length > 0 && results.every(result => result === 'skipped') ? 'skipped' : 'success'
}
