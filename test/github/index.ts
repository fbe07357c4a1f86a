/**
 * A stateful imitation of GitHub for tests, demo and benches, held to GitHub's own OpenAPI and GraphQL descriptions.
 * Front door: `startGitHub()`; a complete example is test/github-double/example.test.ts.
 */
export type { Delivery, HookOptions } from './deliveries.ts'
export type { Fault } from './faults.ts'
export type * from './model.ts'
export type { Violation } from './openapi/validator.ts'
export type { RepositoryOptions } from './repositories.ts'
export type { Repository } from './repository.ts'
export type { LoggedRequest } from './requests.ts'
export type { JobResult, RunHandle } from './runner/handle.ts'
export type { StartRun } from './runner/new-run.ts'
export type { Annotation, RunContext, RunningProcess, StepResult } from './runner/step.ts'
export { timing } from './runner/timing.ts'
export type { ActionStep, CallJob, Job, ScriptStep, ShellStep, Step, Workflow } from './runner/workflow.ts'
export { startGitHub } from './server.ts'
export type { AppIdentity, GitHubDouble, GitHubOptions } from './types.ts'
