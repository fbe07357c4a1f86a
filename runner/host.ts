import type { Policy } from '../policy/decision/policy.ts'
import type { Plan } from '../policy/document/plan.ts'
import { openWorkspace, type Workspace } from './facts/workspace.ts'
import type { RunnerPorts } from './run.ts'
import { collectSecrets, type Secrets } from './secrets.ts'

/** What executors know of the host they work on. */
export interface Host {
  workspace: Workspace
  secrets: Secrets
  temporaryDirectories: readonly string[]
  searchPath: readonly string[]
  /** The face's environment: where container engines are. */
  environment: HostPorts['environment']
  /** Live output of a process, redacted. */
  output(task: string, stream: 'stdout' | 'stderr', text: string): void
}

/** What a host is opened from. */
export type HostPorts = Pick<
  RunnerPorts,
  'workspace' | 'environment' | 'protectedPaths' | 'temporaryDirectories' | 'searchPath' | 'learnSecrets'
>

/** Opens the host for one plan. Throws UnknownFact where the policy's workspace cannot be had. */
export function openHost(ports: HostPorts, plan: Plan, policy: Policy, output: Host['output']): Host {
  const { temporaryDirectories, searchPath, environment, learnSecrets } = ports
  const workspace = openWorkspace({
    workspace: ports.workspace,
    policy,
    protectedPaths: ports.protectedPaths,
    sourceFiles: plan.sourceFiles,
  })
  const secrets = collectSecrets(plan, { workspace, temporaryDirectories, searchPath, environment, learnSecrets })
  return { workspace, secrets, temporaryDirectories, searchPath, environment, output }
}
