import type { RepositoryRecord, Role, User } from './model.ts'
import type { People } from './people.ts'
import { type FileTree, Repository } from './repository.ts'
import type { Workflow } from './runner/workflow.ts'
import type { World } from './world.ts'

export interface RepositoryOptions {
  /** `owner/name`. The owner's account is made when it is missing. */
  name: string
  ownerType?: 'User' | 'Organization'
  id?: number
  private?: boolean
  archived?: boolean
  hasIssues?: boolean
  defaultBranch?: string
  files?: FileTree
  /** Put on the default branch as files too (as JSON, which is YAML). */
  workflows?: readonly Workflow[]
  /** Login to role; accounts are made when missing. */
  collaborators?: { readonly [login: string]: Role }
  labels?: readonly string[]
  /** Whether our App is installed on it. Default true. */
  installed?: boolean
}

/** What the rest of the double wants to hear of. */
export interface RepositoryEvents {
  added(repository: Repository, installed: boolean): void
  renamed(record: RepositoryRecord, oldName: string, by: User): void
}

/** All repositories. */
export class Repositories {
  readonly #world: World
  readonly #people: People
  readonly #events: RepositoryEvents
  readonly #repositories: Repository[] = []
  readonly #formerNames = new Map<string, number>()

  constructor(world: World, people: People, events: RepositoryEvents) {
    this.#world = world
    this.#people = people
    this.#events = events
    people.onRename((user, oldLogin) => {
      for (const repository of this.#repositories) {
        if (repository.record.owner === user) this.#remember(`${oldLogin}/${repository.record.name}`, repository.id)
      }
    })
  }

  add(options: RepositoryOptions): Repository {
    const [ownerLogin = '', name = ''] = options.name.split('/')
    const owner =
      this.#people.find(ownerLogin) ??
      this.#people.add({ login: ownerLogin, type: options.ownerType ?? 'Organization' })
    if (this.exact(ownerLogin, name)) throw new Error(`${options.name} exists`)
    const now = this.#world.now()
    const record: RepositoryRecord = {
      id: options.id ?? this.#world.id(),
      owner,
      name,
      private: options.private ?? false,
      archived: options.archived ?? false,
      hasIssues: options.hasIssues ?? true,
      fork: false,
      defaultBranch: options.defaultBranch ?? 'main',
      collaborators: new Map(),
      labels: (options.labels ?? []).map(label => ({
        id: this.#world.id(),
        name: label,
        color: 'ededed',
        description: null,
      })),
      issues: [],
      commits: new Map(),
      branches: new Map(),
      tags: new Map(),
      tagObjects: new Map(),
      statuses: [],
      nextNumber: 1,
      createdAt: now,
      pushedAt: now,
    }
    const repository = new Repository(this.#world, this.#people, record, (oldName, by) => {
      this.#remember(`${record.owner.login}/${oldName}`, record.id)
      this.#events.renamed(record, oldName, by)
    })
    this.#repositories.push(repository)
    for (const [login, role] of Object.entries(options.collaborators ?? {})) repository.setCollaborator(login, role)
    const workflowFiles = (options.workflows ?? []).map(workflow => [workflow.path, workflowText(workflow)] as const)
    for (const workflow of options.workflows ?? []) repository.addWorkflow(workflow)
    const readme = { 'README.md': `# ${name}\n` }
    repository.commit({
      files: { ...readme, ...Object.fromEntries(workflowFiles), ...options.files },
      message: 'Initial commit',
    })
    this.#events.added(repository, options.installed ?? true)
    return repository
  }

  /** A copy under another owner with the same commits and branches; our App is not installed on it. */
  fork(source: Repository, owner: User): Repository {
    const fork = this.add({ name: `${owner.login}/${source.record.name}`, ownerType: 'User', installed: false })
    fork.record.fork = true
    fork.record.commits = new Map(source.record.commits)
    fork.record.branches = new Map(source.record.branches)
    return fork
  }

  all(): readonly Repository[] {
    return this.#repositories
  }

  byId(id: number): Repository | null {
    return this.#repositories.find(r => r.id === id) ?? null
  }

  /** By present name. Throws where there is none. */
  get(fullName: string): Repository {
    const [owner = '', name = ''] = fullName.split('/')
    const found = this.exact(owner, name)
    if (!found) throw new Error(`no repository ${fullName}`)
    return found
  }

  exact(owner: string, name: string): Repository | null {
    const [o, n] = [owner.toLowerCase(), name.toLowerCase()]
    return (
      this.#repositories.find(r => r.record.owner.login.toLowerCase() === o && r.record.name.toLowerCase() === n) ??
      null
    )
  }

  #remember(fullName: string, id: number): void {
    this.#formerNames.set(fullName.toLowerCase(), id)
  }

  /** The repository that once had this name, where no other has it now. */
  former(owner: string, name: string): Repository | null {
    const id = this.#formerNames.get(`${owner}/${name}`.toLowerCase())
    return id === undefined ? null : this.byId(id)
  }

  remove(repository: Repository): void {
    this.#repositories.splice(this.#repositories.indexOf(repository), 1)
    this.#world.changed()
  }
}

/** The workflow as a file that GitHub would take: JSON is YAML, and inputs stand below their trigger. */
function workflowText({ on, inputs, path: _, ...rest }: Workflow): string {
  const triggers = on.map(event => [event, event === 'workflow_dispatch' && inputs ? { inputs } : null] as const)
  return JSON.stringify({ ...rest, on: Object.fromEntries(triggers) }, null, 2)
}
