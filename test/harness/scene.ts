import {
  type GitHubDouble,
  type GitHubOptions,
  type Issue,
  type Repository,
  type RepositoryOptions,
  startGitHub,
  type Workflow,
} from '../github/index.ts'
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts'

export interface SceneOptions extends ControlPlaneOptions {
  /** Default: a process of its own; `inProcess` gives one whose clock a test moves. */
  controlPlane?: (github: GitHubDouble) => Promise<ControlPlane>
  github?: GitHubOptions
  repository?: Partial<RepositoryOptions>
  /** The document at `.agentctl/flow.yaml`. */
  document?: string
  /** More inputs of the agentctl step. */
  with?: { readonly [input: string]: string }
  /** Replaces the default workflow with one job `gate`. */
  workflow?: (controlPlane: string) => Workflow
}

/** GitHub, a control plane and one repository that uses agentctl: what an end-to-end test starts from. */
export interface Scene {
  github: GitHubDouble
  controlPlane: ControlPlane
  repository: Repository
  /** The registered approval issues, oldest first. */
  approvalIssues(): Issue[]
  /** Waits for the n-th approval issue (from 1) to be there. */
  approvalIssue(n?: number): Promise<Issue>
  close(): Promise<void>
}

export const workflowPath = '.github/workflows/gate.yml'
export const documentPath = '.agentctl/flow.yaml'

/** One job, one agentctl step, the permissions that the README asks for. */
export function gateWorkflow(controlPlane: string, inputs: { readonly [input: string]: string } = {}): Workflow {
  return {
    name: 'gate',
    path: workflowPath,
    on: ['push', 'workflow_dispatch', 'pull_request'],
    inputs: { 'agentctl-run': { required: false, default: '' } },
    permissions: { contents: 'read', 'id-token': 'write', issues: 'write' },
    jobs: {
      gate: {
        steps: [
          {
            id: 'agentctl',
            uses: 'agentctl',
            with: { workflow: documentPath, 'control-plane-url': controlPlane, ...inputs },
          },
        ],
      },
    },
  }
}

/** A write that waits for a person: the shortest document that pauses. */
export const gatedWrite = `apiVersion: agentctl.dev/v1
kind: Workflow
metadata: { name: gated }
spec:
  policy: { writableRoots: [out], approval: mutations }
  outputs:
    written: "\${{ tasks.gated.output.path }}"
  actions:
    write: { kind: builtin.write }
  tasks:
    - id: gated
      uses: action:write
      with: { path: out/approved.txt, content: approved by a person }
`

/** Starts everything; alice maintains, bob writes, carol triages, dave reads, mallory is nobody here. */
export async function startScene(options: SceneOptions = {}): Promise<Scene> {
  const github = await startGitHub(options.github)
  for (const login of ['alice', 'bob', 'carol', 'dave', 'mallory']) github.users.ensure(login)
  let controlPlane: ControlPlane
  try {
    controlPlane = await (options.controlPlane?.(github) ?? startControlPlane(github, options))
  } catch (error) {
    await github.close().catch(() => undefined)
    throw error
  }
  const workflow = options.workflow?.(controlPlane.url) ?? gateWorkflow(controlPlane.url, options.with)
  const repository = github.repositories.add({
    name: 'octo/app',
    collaborators: { alice: 'maintain', bob: 'write', carol: 'triage', dave: 'read' },
    workflows: [workflow],
    ...options.repository,
    files: { 'README.md': '# app\n', [documentPath]: options.document ?? gatedWrite, ...options.repository?.files },
  })
  const approvalIssues = () => repository.issues.filter(issue => issue.body.includes('<!-- agentctl:pause='))
  return {
    github,
    controlPlane,
    repository,
    approvalIssues,
    approvalIssue: (n = 1) => github.until(() => approvalIssues()[n - 1]),
    close: async () => {
      await controlPlane.close()
      await github.close()
    },
  }
}
