import type { Team, User } from './model.ts'
import type { World } from './world.ts'

/** github-actions[bot] and its App, as on github.com. */
export const ACTIONS_BOT_ID = 41898282
export const ACTIONS_APP_ID = 15368

export interface NewUser {
  login: string
  id?: number
  type?: User['type']
  name?: string | null
}

/** Everyone with an account: people, bots, organisations. Looked up by login without regard to case, as GitHub does. */
export class People {
  readonly #world: World
  readonly #byId = new Map<number, User>()
  readonly #renamed: ((user: User, oldLogin: string) => void)[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** Adds an account; an existing login is an error. A string is a plain user of that login. */
  add(options: string | NewUser): User {
    const {
      login,
      id = this.#world.id(),
      type = 'User',
      name = null,
    } = typeof options === 'string' ? { login: options } : options
    if (this.find(login)) throw new Error(`login ${login} is taken`)
    const user: User = { id, login, type, name, createdAt: this.#world.now() }
    this.#byId.set(id, user)
    return user
  }

  /** The account with this login; adds a plain user where there is none. */
  ensure(login: string): User {
    // No person's login can hold brackets: a name that ends so is an App's.
    return this.find(login) ?? this.add(login.endsWith('[bot]') ? { login, type: 'Bot' } : login)
  }

  find(login: string): User | null {
    const wanted = login.toLowerCase()
    for (const user of this.#byId.values()) if (user.login.toLowerCase() === wanted) return user
    return null
  }

  byId(id: number): User | null {
    return this.#byId.get(id) ?? null
  }

  all(): User[] {
    return [...this.#byId.values()]
  }

  /** Same id under a new login; the old login is free at once, as on GitHub. */
  rename(user: User, login: string): void {
    if (this.find(login)) throw new Error(`login ${login} is taken`)
    const old = user.login
    user.login = login
    for (const listener of this.#renamed) listener(user, old)
    this.#world.changed()
  }

  onRename(listener: (user: User, oldLogin: string) => void): void {
    this.#renamed.push(listener)
  }

  /** The account is gone: 404 by login and by id. What it wrote stays, under `ghost`. */
  remove(user: User): void {
    this.#byId.delete(user.id)
    this.#world.changed()
  }
}

export interface NewTeam {
  org: string
  slug: string
  /** Logins, or more where role or state matter. Default role member, state active. */
  members: readonly (string | { user: string; role?: 'member' | 'maintainer'; state?: 'active' | 'pending' })[]
}

/** Teams of organisations; the organisation account is made when it is missing. */
export class Teams {
  readonly #world: World
  readonly #people: People
  readonly #teams: Team[] = []

  constructor(world: World, people: People) {
    this.#world = world
    this.#people = people
  }

  add({ org, slug, members }: NewTeam): Team {
    const account = this.#people.find(org) ?? this.#people.add({ login: org, type: 'Organization' })
    const team: Team = {
      id: this.#world.id(),
      org: account,
      slug,
      name: slug,
      members: members.map(member => {
        const { user, role = 'member', state = 'active' } = typeof member === 'string' ? { user: member } : member
        return { user: this.#people.ensure(user), role, state }
      }),
    }
    this.#teams.push(team)
    return team
  }

  find(org: string, slug: string): Team | null {
    return this.#teams.find(t => t.org.login.toLowerCase() === org.toLowerCase() && t.slug === slug) ?? null
  }

  /** True where the person is an active member of any team of the organisation. */
  memberOf(org: User, user: User): boolean {
    return this.#teams.some(t => t.org === org && t.members.some(m => m.user === user && m.state === 'active'))
  }
}
