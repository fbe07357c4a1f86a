export { githubFor } from './client.ts'
export { type Failure, type FailureCode, isTransient, type Result, success } from './result.ts'
export type {
  Account,
  CommitPeople,
  FloorFile,
  GitHubRepository,
  GitHubSettings,
  Issue,
  IssueComment,
  Job,
  PermissionAnswer,
  ReactionContent,
  RepositoryInfo,
  RepositoryName,
  Shown,
  StatusState,
  WorkflowRun,
} from './types.ts'
