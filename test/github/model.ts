/** The state of the double, as plain data. Every id is an integer as GitHub's are; every time is a Date of the double's clock. */

export type Level = 'read' | 'write' | 'admin'

/** Permissions of a token or an App, by GitHub's API names (`pull_requests`, never `pull-requests`). */
export interface Permissions {
  [name: string]: Level
}

export interface User {
  id: number
  login: string
  type: 'User' | 'Bot' | 'Organization'
  name: string | null
  createdAt: Date
}

export interface Team {
  id: number
  org: User
  slug: string
  name: string
  members: { user: User; role: 'member' | 'maintainer'; state: 'active' | 'pending' }[]
}

/** The five roles that `role_name` can name; a custom role is any other text with its legacy base. */
export type Role =
  | 'read'
  | 'triage'
  | 'write'
  | 'maintain'
  | 'admin'
  | { name: string; base: 'read' | 'write' | 'admin' }

export interface AppRecord {
  id: number
  clientId: string
  slug: string
  name: string
  owner: User
  bot: User
  permissions: Permissions
  events: string[]
  createdAt: Date
}

export interface Installation {
  id: number
  app: AppRecord
  account: User
  /** Ids of the selected repositories, or all of the account's. */
  repositories: Set<number> | 'all'
  permissions: Permissions
  events: string[]
  suspendedAt: Date | null
  createdAt: Date
}

export interface Label {
  id: number
  name: string
  color: string
  description: string | null
}

export interface Reaction {
  id: number
  user: User
  content: '+1' | '-1' | 'laugh' | 'confused' | 'heart' | 'hooray' | 'rocket' | 'eyes'
  createdAt: Date
}

export interface Comment {
  id: number
  nodeId: string
  issue: Issue
  body: string
  user: User
  via: AppRecord | null
  createdAt: Date
  updatedAt: Date
  /** GraphQL's lastEditedAt and editor: set by every edit of the body, also one that restores it. */
  lastEditedAt: Date | null
  editor: User | null
  reactions: Reaction[]
}

export interface Issue {
  id: number
  nodeId: string
  number: number
  repository: RepositoryRecord
  title: string
  body: string
  user: User
  via: AppRecord | null
  state: 'open' | 'closed'
  stateReason: 'completed' | 'reopened' | 'not_planned' | 'duplicate' | null
  labels: Label[]
  assignees: User[]
  locked: boolean
  comments: Comment[]
  createdAt: Date
  updatedAt: Date
  closedAt: Date | null
  closedBy: User | null
  lastEditedAt: Date | null
  editor: User | null
  reactions: Reaction[]
  events: IssueEvent[]
  /** Set where this number is a pull request. */
  pull: Pull | null
  gone: { kind: 'deleted' } | { kind: 'transferred'; to: Issue } | null
}

/** What the issue's timeline says of state and title. */
export interface IssueEvent {
  id: number
  event: 'closed' | 'reopened' | 'renamed'
  actor: User
  via: AppRecord | null
  /** The commit that closed it by its message, if one did. */
  commit: string | null
  rename: { from: string; to: string } | null
  createdAt: Date
}

export interface Pull {
  head: { ref: string; sha: string; repository: RepositoryRecord; user: User }
  base: { ref: string; sha: string }
  merged: boolean
  draft: boolean
}

export interface GitIdentity {
  name: string
  email: string
  /** The account that GitHub links to the email, if any. */
  user: User | null
}

export interface Commit {
  sha: string
  tree: string
  parents: string[]
  author: GitIdentity
  committer: GitIdentity
  at: Date
  message: string
  /** Path to content; the whole tree. */
  files: ReadonlyMap<string, Uint8Array>
}

export interface CommitStatus {
  id: number
  sha: string
  state: 'error' | 'failure' | 'pending' | 'success'
  context: string
  description: string | null
  targetUrl: string | null
  creator: User
  createdAt: Date
}

export interface WorkflowRecord<Definition> {
  id: number
  name: string
  path: string
  state: 'active' | 'disabled_manually'
  definition: Definition
  createdAt: Date
}

export interface RepositoryRecord {
  id: number
  owner: User
  name: string
  private: boolean
  archived: boolean
  hasIssues: boolean
  fork: boolean
  defaultBranch: string
  collaborators: Map<number, Role>
  labels: Label[]
  issues: Issue[]
  commits: Map<string, Commit>
  branches: Map<string, string>
  /** Tag name to the commit that it leads to. */
  tags: Map<string, string>
  /** Annotated tags: name to the id of the tag object in between. */
  tagObjects: Map<string, string>
  statuses: CommitStatus[]
  nextNumber: number
  createdAt: Date
  pushedAt: Date
}
