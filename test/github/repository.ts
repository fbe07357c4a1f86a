import { makeCommit, tagSha } from './git.ts'
import type { Commit, GitIdentity, Issue, Pull, RepositoryRecord, Role, User, WorkflowRecord } from './model.ts'
import type { People } from './people.ts'
import type { Workflow } from './runner/workflow.ts'
import { nodeId, type World } from './world.ts'

/** File contents by path; null deletes the path in a later commit. */
export interface FileTree {
  readonly [path: string]: string | Uint8Array | null
}

export interface NewCommit {
  files: FileTree
  branch?: string
  message?: string
  /** Account that GitHub links to author and committer, or a bare identity. Default: the owner. */
  author?: User | GitIdentity
  committer?: User | GitIdentity
}

export interface NewPull {
  title: string
  user: User
  head: string
  /** Default: the default branch. */
  base?: string
  /** The fork that holds `head`. Default: this repository. */
  from?: Repository
}

/** One repository: its record and what may be done to it from outside the API. */
export class Repository {
  readonly record: RepositoryRecord
  readonly workflows: WorkflowRecord<Workflow>[] = []
  /** Actions secrets by name, and those that runs started by Dependabot get instead. */
  secrets: { readonly [name: string]: string } = {}
  dependabotSecrets: { readonly [name: string]: string } = {}
  readonly #world: World
  readonly #people: People
  readonly #onRename: (oldName: string, by: User) => void

  constructor(world: World, people: People, record: RepositoryRecord, onRename: (oldName: string, by: User) => void) {
    this.#world = world
    this.#people = people
    this.#onRename = onRename
    this.record = record
  }

  get id(): number {
    return this.record.id
  }

  get fullName(): string {
    return `${this.record.owner.login}/${this.record.name}`
  }

  /** Head of the branch. Throws where there is none. */
  head(branch = this.record.defaultBranch): Commit {
    const commit = this.record.commits.get(this.record.branches.get(branch) ?? '')
    if (!commit) throw new Error(`${this.fullName} has no branch ${branch}`)
    return commit
  }

  /** Commits on top of the branch (made from the default branch when new); no workflow starts by itself. */
  commit({ files, branch = this.record.defaultBranch, message = 'Change', author, committer }: NewCommit): Commit {
    const parent = this.record.branches.get(branch) ?? this.record.branches.get(this.record.defaultBranch)
    const merged = new Map(parent === undefined ? [] : this.record.commits.get(parent)?.files)
    for (const [path, content] of Object.entries(files)) {
      if (content === null) merged.delete(path)
      else merged.set(path, typeof content === 'string' ? Buffer.from(content) : content)
    }
    const written = identity(author ?? this.record.owner)
    const commit = makeCommit({
      parents: parent === undefined ? [] : [parent],
      author: written,
      committer: committer === undefined ? written : identity(committer),
      at: this.#world.now(),
      message,
      files: merged,
    })
    this.record.commits.set(commit.sha, commit)
    this.record.branches.set(branch, commit.sha)
    this.record.pushedAt = this.#world.now()
    for (const issue of this.record.issues) {
      if (issue.pull?.head.repository === this.record && issue.pull.head.ref === branch)
        issue.pull.head.sha = commit.sha
    }
    this.#world.changed()
    return commit
  }

  /** Sets a tag; an annotated one is an object of its own between name and commit. */
  tag(name: string, { sha = this.head().sha, annotated = false }: { sha?: string; annotated?: boolean } = {}): void {
    this.record.tags.set(name, sha)
    if (annotated) this.record.tagObjects.set(name, tagSha(name, sha, this.#world.now()))
    else this.record.tagObjects.delete(name)
    this.#world.changed()
  }

  /** Moves a branch (a force push) or, with null, deletes it. */
  moveBranch(branch: string, sha: string | null): void {
    if (sha === null) this.record.branches.delete(branch)
    else this.record.branches.set(branch, sha)
    this.#world.changed()
  }

  addWorkflow(definition: Workflow): WorkflowRecord<Workflow> {
    const now = this.#world.now()
    const old = this.workflows.findIndex(w => w.path === definition.path)
    const workflow: WorkflowRecord<Workflow> = {
      id: this.workflows[old]?.id ?? this.#world.id(),
      name: definition.name,
      path: definition.path,
      state: 'active',
      definition,
      createdAt: now,
    }
    if (old < 0) this.workflows.push(workflow)
    else this.workflows[old] = workflow
    return workflow
  }

  disableWorkflow(path: string): void {
    const workflow = this.workflows.find(w => w.path === path)
    if (!workflow) throw new Error(`${this.fullName} has no workflow ${path}`)
    workflow.state = 'disabled_manually'
    this.#world.changed()
  }

  /** Opens a pull request; its number counts with the issues. */
  pull({ title, user, head, base = this.record.defaultBranch, from = this }: NewPull): Issue & { pull: Pull } {
    const now = this.#world.now()
    const id = this.#world.id()
    const pull: Pull = {
      head: { ref: head, sha: from.head(head).sha, repository: from.record, user: from.record.owner },
      base: { ref: base, sha: this.head(base).sha },
      merged: false,
      draft: false,
    }
    const issue: Issue & { pull: Pull } = {
      id,
      nodeId: nodeId('PR', id),
      number: this.record.nextNumber++,
      repository: this.record,
      title,
      body: '',
      user,
      via: null,
      state: 'open',
      stateReason: null,
      labels: [],
      assignees: [],
      locked: false,
      comments: [],
      createdAt: now,
      updatedAt: now,
      closedAt: null,
      closedBy: null,
      lastEditedAt: null,
      editor: null,
      reactions: [],
      events: [],
      pull,
      gone: null,
    }
    this.record.issues.push(issue)
    this.#world.changed()
    return issue
  }

  /** Its issues without the pull requests, oldest first. */
  get issues(): Issue[] {
    return this.record.issues.filter(issue => issue.pull === null)
  }

  /** The issue or pull request with that number. Throws where there is none. */
  issue(number: number): Issue {
    const issue = this.record.issues.find(i => i.number === number)
    if (!issue) throw new Error(`${this.fullName} has no issue ${number}`)
    return issue
  }

  setCollaborator(login: string, role: Role | null): void {
    const user = this.#people.ensure(login)
    if (role === null) this.record.collaborators.delete(user.id)
    else this.record.collaborators.set(user.id, role)
    this.#world.changed()
  }

  /** Renames, delivers `repository` renamed; the old name redirects until another repository takes it. */
  rename(name: string, by: User = this.record.owner): void {
    const old = this.record.name
    this.record.name = name
    this.#onRename(old, by)
    this.#world.changed()
  }

  set(change: { archived?: boolean; private?: boolean; hasIssues?: boolean }): void {
    Object.assign(this.record, change)
    this.#world.changed()
  }
}

const identity = (who: User | GitIdentity): GitIdentity =>
  'login' in who
    ? { name: who.name ?? who.login, email: `${who.id}+${who.login}@users.noreply.github.com`, user: who }
    : who
