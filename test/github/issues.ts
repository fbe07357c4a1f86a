import type { DeliveryLog } from './deliveries.ts'
import { archived, invalid, issuesDisabled, locked } from './errors.ts'
import type { AppRecord, Comment, Issue, IssueEvent, Label, Reaction, RepositoryRecord, User } from './model.ts'
import { commentEvent, issueEvent } from './payloads.ts'
import { issue as issueBody } from './render/issues.ts'
import { repository as repositoryBody } from './render/repository.ts'
import { nodeId, type World } from './world.ts'

/** Who writes: the account, and the App it writes through. */
export interface Author {
  user: User
  via: AppRecord | null
}

export interface IssueChange {
  title?: string | undefined
  body?: string | undefined
  state?: 'open' | 'closed' | undefined
  stateReason?: Issue['stateReason'] | undefined
  /** Commit that closes it, as one whose message says `Fixes #1`. */
  commit?: string | undefined
  labels?: string[] | undefined
  assignees?: User[] | undefined
}

const MAX_BODY = 65_536

/** Issues, comments and reactions: one set of rules for the API and for people. Throws ApiError as GitHub answers. */
export class Issues {
  readonly #world: World
  readonly #deliveries: DeliveryLog

  constructor(world: World, deliveries: DeliveryLog) {
    this.#world = world
    this.#deliveries = deliveries
  }

  create(
    repository: RepositoryRecord,
    author: Author,
    options: { title: string; body: string; labels: string[]; assignees: User[] },
  ): Issue {
    writable(repository)
    if (!repository.hasIssues) throw issuesDisabled()
    if (options.title.trim() === '') throw invalid('Issue', 'title', 'missing_field')
    if (options.title.length > 256)
      throw invalid('Issue', 'title', 'custom', 'title is too long (maximum is 256 characters)')
    checkBody('Issue', options.body)
    const now = this.#world.now()
    const id = this.#world.id()
    const issue: Issue = {
      id,
      nodeId: nodeId('I', id),
      number: repository.nextNumber++,
      repository,
      title: options.title,
      body: options.body,
      user: author.user,
      via: author.via,
      state: 'open',
      stateReason: null,
      labels: options.labels.map(name => this.label(repository, name)),
      assignees: options.assignees,
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
      pull: null,
      gone: null,
    }
    repository.issues.push(issue)
    this.#deliveries.emit(issueEvent(this.#world, 'opened', issue, author.user))
    return issue
  }

  update(issue: Issue, by: Author, change: IssueChange): void {
    writable(issue.repository)
    if (change.body !== undefined) checkBody('Issue', change.body)
    const now = this.#world.now()
    const changes: { title?: { from: string }; body?: { from: string } } = {}
    if (change.title !== undefined && change.title !== issue.title) {
      changes.title = { from: issue.title }
      this.#note(issue, by, { event: 'renamed', rename: { from: issue.title, to: change.title } })
      issue.title = change.title
    }
    if (change.body !== undefined && change.body !== issue.body) {
      changes.body = { from: issue.body }
      issue.body = change.body
      issue.lastEditedAt = now
      issue.editor = by.user
    }
    if (change.labels) issue.labels = change.labels.map(name => this.label(issue.repository, name))
    if (change.assignees) issue.assignees = change.assignees
    issue.updatedAt = now
    if (changes.title || changes.body) this.#deliveries.emit(issueEvent(this.#world, 'edited', issue, by.user, changes))
    if (change.state !== undefined && change.state !== issue.state)
      this.#setState(issue, by, change.state, change.stateReason ?? null, change.commit ?? null)
    this.#world.changed()
  }

  #setState(
    issue: Issue,
    by: Author,
    state: 'open' | 'closed',
    reason: Issue['stateReason'],
    commit: string | null,
  ): void {
    const closed = state === 'closed'
    issue.state = state
    issue.stateReason = reason ?? (closed ? 'completed' : 'reopened')
    issue.closedAt = closed ? this.#world.now() : null
    issue.closedBy = closed ? by.user : null
    this.#note(issue, by, { event: closed ? 'closed' : 'reopened', commit })
    this.#deliveries.emit(issueEvent(this.#world, closed ? 'closed' : 'reopened', issue, by.user))
  }

  #note(issue: Issue, by: Author, event: Pick<IssueEvent, 'event'> & Partial<IssueEvent>): void {
    issue.events.push({
      id: this.#world.id(),
      actor: by.user,
      via: by.via,
      commit: null,
      rename: null,
      createdAt: this.#world.now(),
      ...event,
    })
  }

  /** Gone for good: 410 from then on, its comments 404. */
  delete(issue: Issue, by: User): void {
    issue.gone = { kind: 'deleted' }
    this.#deliveries.emit(issueEvent(this.#world, 'deleted', issue, by))
  }

  /** A new number in another repository of the same owner; the old one redirects. */
  transfer(issue: Issue, to: RepositoryRecord, by: User): Issue {
    const id = this.#world.id()
    const moved: Issue = {
      ...issue,
      id,
      nodeId: nodeId('I', id),
      number: to.nextNumber++,
      repository: to,
      comments: [],
    }
    moved.comments = issue.comments.map(comment => ({ ...comment, issue: moved }))
    to.issues.push(moved)
    issue.gone = { kind: 'transferred', to: moved }
    const changes = { new_issue: issueBody(this.#world, moved), new_repository: repositoryBody(this.#world, to) }
    this.#deliveries.emit(issueEvent(this.#world, 'transferred', issue, by, changes))
    return moved
  }

  comment(issue: Issue, author: Author, body: string): Comment {
    writable(issue.repository)
    if (issue.locked) throw locked()
    checkBody('IssueComment', body)
    if (body.trim() === '') throw invalid('IssueComment', 'body', 'missing_field', 'body cannot be blank')
    const now = this.#world.now()
    const id = this.#world.id()
    const comment: Comment = {
      id,
      nodeId: nodeId('IC', id),
      issue,
      body,
      user: author.user,
      via: author.via,
      createdAt: now,
      updatedAt: now,
      lastEditedAt: null,
      editor: null,
      reactions: [],
    }
    issue.comments.push(comment)
    issue.updatedAt = now
    this.#deliveries.emit(commentEvent(this.#world, 'created', comment, author.user))
    return comment
  }

  editComment(comment: Comment, by: Author, body: string): void {
    writable(comment.issue.repository)
    checkBody('IssueComment', body)
    const from = comment.body
    comment.body = body
    comment.updatedAt = comment.lastEditedAt = this.#world.now()
    comment.editor = by.user
    this.#deliveries.emit(commentEvent(this.#world, 'edited', comment, by.user, from))
  }

  deleteComment(comment: Comment, by: User): void {
    comment.issue.comments.splice(comment.issue.comments.indexOf(comment), 1)
    this.#deliveries.emit(commentEvent(this.#world, 'deleted', comment, by))
  }

  /** The person's reaction; one of a kind per person, a repeated one is the first again. */
  react(
    target: { reactions: Reaction[] },
    user: User,
    content: Reaction['content'],
  ): { reaction: Reaction; created: boolean } {
    const existing = target.reactions.find(r => r.user === user && r.content === content)
    if (existing) return { reaction: existing, created: false }
    const reaction: Reaction = { id: this.#world.id(), user, content, createdAt: this.#world.now() }
    target.reactions.push(reaction)
    this.#world.changed()
    return { reaction, created: true }
  }

  /** The repository's label of that name, made where it is missing, as GitHub does when labels are set on an issue. */
  label(repository: RepositoryRecord, name: string): Label {
    const existing = repository.labels.find(label => label.name.toLowerCase() === name.toLowerCase())
    if (existing) return existing
    const label: Label = { id: this.#world.id(), name, color: 'ededed', description: null }
    repository.labels.push(label)
    return label
  }
}

function writable(repository: RepositoryRecord): void {
  if (repository.archived) throw archived()
}

function checkBody(resource: string, body: string): void {
  if (body.length > MAX_BODY)
    throw invalid(resource, 'body', 'custom', `body is too long (maximum is ${MAX_BODY} characters)`)
}
