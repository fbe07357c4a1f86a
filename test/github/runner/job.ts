import { randomUUID } from 'node:crypto'
import { jobEnvironment } from './environment.ts'
import { interpolate } from './expressions.ts'
import { killOrphans } from './orphans.ts'
import { preparePlaces } from './places.ts'
import { performPosts } from './posts.ts'
import { contextsOf, type JobPorts, type JobScope, type StepScope } from './scope.ts'
import type { JobAttempt, WorkflowRun } from './state.ts'
import { runSteps } from './steps.ts'

export type { JobPorts } from './scope.ts'

/** Runs the steps of one job attempt in a new workspace and a new RUNNER_TEMP. Returns how it ended; never throws for what a step does. */
export async function runJob(
  run: WorkflowRun,
  job: JobAttempt,
  ports: JobPorts,
): Promise<'success' | 'failure' | 'cancelled'> {
  const { world, stop } = ports
  const places = preparePlaces(world, run, job, ports.directory)
  const trackingId = `github_${randomUUID()}`
  const secrets = Object.values((ports.contexts['secrets'] ?? {}) as { [name: string]: string })
  const scope: JobScope = {
    run,
    job,
    ports,
    places,
    base: {
      RUNNER_TRACKING_ID: trackingId,
      ...jobEnvironment(world, run, job, places, ports.oidc),
      ...ports.extraEnvironment,
    },
    shared: {
      world,
      temp: places.temp,
      masks: new Set([ports.token, ...(ports.oidc ? [ports.oidc.token] : []), ...secrets.filter(Boolean)]),
      environment: {},
      path: [],
    },
    failed: false,
    posts: [],
  }
  const where = topScope(scope)
  where.env = Object.fromEntries(
    Object.entries(job.definition.env ?? {}).map(([key, value]) => [key, interpolate(value, contextsOf(where))]),
  )
  await runSteps(job.definition.steps, where, step => void job.steps.push(step))
  await performPosts(scope.posts, where)
  if (stop.lost.aborted) return lostRunner(job)
  job.outputs = outputsOf(job, where)
  job.orphans = killOrphans(trackingId)
  if (stop.cancelled.aborted || stop.forced.aborted) return 'cancelled'
  return scope.failed ? 'failure' : 'success'
}

const topScope = (job: JobScope): StepScope => ({
  job,
  top: null,
  action: null,
  inputs: null,
  env: {},
  finished: {},
  get failed() {
    return job.failed
  },
  set failed(failed) {
    job.failed = failed
  },
  posts: job.posts,
  timeout: null,
  prefix: '',
})

/** The service's words once a runner has not called for a while (actions/runner issue 2040); the job has failed. */
function lostRunner(job: JobAttempt): 'failure' {
  const message = `The self-hosted runner: ${job.runnerName} lost communication with the server. Verify the machine is running and has a healthy network connection. Anything in your workflow that terminates the runner process, starves it for CPU/Memory, or blocks its network access can cause this error.`
  job.annotations.push({ level: 'error', message })
  return 'failure'
}

function outputsOf(job: JobAttempt, where: StepScope): { [name: string]: string } {
  const { outputs } = job.definition
  if (outputs === undefined)
    return Object.assign({}, ...job.steps.map(step => step.outputs)) as { [name: string]: string }
  const contexts = contextsOf(where)
  const values = Object.entries(outputs).map(([name, value]) => [name, interpolate(value, contexts)] as const)
  // The runner sends no empty output, nor one that holds a secret (src/Runner.Worker/JobExtension.cs).
  const holdsSecret = (value: string) => [...where.job.shared.masks].some(mask => value.includes(mask))
  return Object.fromEntries(values.filter(([, value]) => value !== '' && !holdsSecret(value)))
}
