import { covers } from './access.ts'
import type { AppRecord, Installation, Permissions } from './model.ts'
import { type Event, installationEvent, installationRepositoriesEvent } from './payloads.ts'
import type { Repository } from './repository.ts'
import type { TokenIssuer } from './tokens.ts'
import type { World } from './world.ts'

/** Installations of our App: one an account, over selected repositories. */
export class Installations {
  readonly all: Installation[] = []
  readonly #world: World
  readonly #app: AppRecord
  readonly #tokens: TokenIssuer
  #emit: (event: Event) => void = () => {}

  constructor(world: World, app: AppRecord, tokens: TokenIssuer) {
    this.#tokens = tokens
    this.#world = world
    this.#app = app
  }

  onEvent(listener: (event: Event) => void): void {
    this.#emit = listener
  }

  /** The installation that covers the repository, or null. */
  of(repository: Repository): Installation | null {
    return (
      this.all.find(one => one.account === repository.record.owner && covers(one.repositories, repository.id)) ?? null
    )
  }

  /** A new repository: joins its owner's installation, or makes one. */
  cover(repository: Repository, installed: boolean): void {
    if (installed) this.add(repository)
  }

  /** Installs the App on the repository; delivers `installation` created or `installation_repositories` added. */
  add(repository: Repository): Installation {
    const { record } = repository
    const existing = this.all.find(one => one.account === record.owner)
    if (existing) {
      if (existing.repositories !== 'all' && !existing.repositories.has(record.id)) {
        existing.repositories.add(record.id)
        this.#emit(installationRepositoriesEvent(this.#world, 'added', existing, [record], record.owner))
      }
      return existing
    }
    const made: Installation = {
      id: this.#world.id(),
      app: this.#app,
      account: record.owner,
      repositories: new Set([record.id]),
      permissions: { ...this.#app.permissions },
      events: this.#app.events,
      suspendedAt: null,
      createdAt: this.#world.now(),
    }
    this.all.push(made)
    this.#emit(installationEvent(this.#world, 'created', made, [record], record.owner))
    return made
  }

  /** Takes the repository out; delivers `installation_repositories` removed. */
  remove(repository: Repository): void {
    const one = this.of(repository)
    if (!one || one.repositories === 'all') return
    one.repositories.delete(repository.id)
    this.#emit(installationRepositoriesEvent(this.#world, 'removed', one, [repository.record], repository.record.owner))
  }

  /** Uninstalls it from the whole account: delivers `installation` deleted, its tokens end. */
  delete(one: Installation): void {
    this.#tokens.revokeInstallation(one.id)
    this.#emit(installationEvent(this.#world, 'deleted', one, [], one.account))
    this.all.splice(this.all.indexOf(one), 1)
  }

  suspend(one: Installation, suspended: boolean): void {
    one.suspendedAt = suspended ? this.#world.now() : null
    this.#emit(installationEvent(this.#world, suspended ? 'suspend' : 'unsuspend', one, [], one.account))
  }

  /** What new tokens of the installation may ask for at most; for tests of a permission that was not granted. */
  setPermissions(one: Installation, permissions: Permissions): void {
    one.permissions = permissions
    this.#world.changed()
  }
}
