import { checkRepository } from '../access.ts'
import type { Services } from '../call.ts'
import type { Comment, Issue, User } from '../model.ts'
import { issue as issueBody } from '../render/issues.ts'
import type { Repository } from '../repository.ts'
import type { Caller } from '../tokens.ts'
import { iso, maybeIso, nodeId } from '../world.ts'

/** Objects in the shape of GitHub's GraphQL types, made when a field asks for them. */
export interface Resolvers {
  node(args: { id: string }): object
  nodes(args: { ids: string[] }): (object | Error)[]
  repository(args: { owner: string; name: string }): object
  viewer(): object
}

const unresolved = (what: string): Error =>
  Object.assign(new Error(`Could not resolve to ${what}.`), { extensions: { type: 'NOT_FOUND' } })

export function resolvers(services: Services, caller: Caller): Resolvers {
  const { world } = services

  const visible = (repository: Repository | null): boolean => {
    if (!repository) return false
    try {
      checkRepository(
        caller,
        repository,
        {
          permission: [
            ['issues', 'read'],
            ['pull_requests', 'read'],
          ],
          role: 'read',
        },
        services.teams,
      )
      return true
    } catch {
      return false
    }
  }
  const actor = (user: User | null) =>
    user && {
      __typename: user.type,
      id: nodeId(user.type === 'Organization' ? 'O' : user.type === 'Bot' ? 'BOT' : 'U', user.id),
      databaseId: user.id,
      // GraphQL gives a bot's login without the suffix that REST adds.
      login: user.type === 'Bot' ? user.login.replace(/\[bot\]$/, '') : user.login,
      url: `${world.serverUrl}/${user.login}`,
      avatarUrl: `${world.serverUrl}/avatars/u/${user.id}?v=4`,
      createdAt: iso(user.createdAt),
    }
  const edits = (one: { lastEditedAt: Date | null; editor: User | null }) => ({
    totalCount: one.lastEditedAt ? 1 : 0,
    nodes: one.lastEditedAt ? [{ editedAt: iso(one.lastEditedAt), editor: actor(one.editor) }] : [],
    pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
  })
  const written = (one: Issue | Comment) => ({
    id: one.nodeId,
    databaseId: one.id,
    fullDatabaseId: String(one.id),
    body: one.body,
    author: actor(one.user),
    editor: actor(one.editor),
    createdAt: iso(one.createdAt),
    updatedAt: iso(one.updatedAt),
    publishedAt: iso(one.createdAt),
    lastEditedAt: maybeIso(one.lastEditedAt),
    includesCreatedEdit: one.lastEditedAt !== null,
    createdViaEmail: false,
    userContentEdits: () => edits(one),
  })
  const comment = (one: Comment): object => ({
    __typename: 'IssueComment',
    ...written(one),
    url: `${issueBody(world, one.issue).html_url}#issuecomment-${one.id}`,
    isMinimized: false,
    issue: () => issue(one.issue),
    repository: () => repository(services.repositories.byId(one.issue.repository.id)),
  })
  const issue = (one: Issue): object => ({
    __typename: one.pull ? 'PullRequest' : 'Issue',
    ...written(one),
    number: one.number,
    title: one.title,
    state: one.state.toUpperCase(),
    stateReason: one.stateReason?.toUpperCase() ?? null,
    closed: one.state === 'closed',
    closedAt: maybeIso(one.closedAt),
    locked: one.locked,
    url: issueBody(world, one).html_url,
    repository: () => repository(services.repositories.byId(one.repository.id)),
    comments: ({ first, last, after }: { first?: number; last?: number; after?: string }) => {
      const start = after === undefined || after === null ? 0 : Number(Buffer.from(after, 'base64url').toString()) + 1
      const from = last === undefined || last === null ? start : Math.max(one.comments.length - last, 0)
      const page = one.comments.slice(from, from + (first ?? last ?? 100))
      const end = from + page.length - 1
      return {
        totalCount: one.comments.length,
        nodes: page.map(comment),
        pageInfo: {
          hasNextPage: end < one.comments.length - 1,
          hasPreviousPage: from > 0,
          startCursor: page.length === 0 ? null : Buffer.from(String(from)).toString('base64url'),
          endCursor: page.length === 0 ? null : Buffer.from(String(end)).toString('base64url'),
        },
      }
    },
  })
  const repository = (one: Repository | null): object | null =>
    one && {
      __typename: 'Repository',
      id: nodeId('R', one.id),
      databaseId: one.id,
      name: one.record.name,
      nameWithOwner: one.fullName,
      isPrivate: one.record.private,
      isArchived: one.record.archived,
      hasIssuesEnabled: one.record.hasIssues,
      url: `${world.serverUrl}/${one.fullName}`,
      issue: ({ number }: { number: number }) => {
        const found = one.record.issues.find(i => i.number === number && !i.pull && !i.gone)
        if (!found) throw unresolved(`an Issue with the number of ${number}`)
        return issue(found)
      },
      pullRequest: ({ number }: { number: number }) => {
        const found = one.record.issues.find(i => i.number === number && i.pull)
        if (!found) throw unresolved(`a PullRequest with the number of ${number}`)
        return issue(found)
      },
    }

  const node = ({ id }: { id: string }): object => {
    for (const one of services.repositories.all()) {
      if (!visible(one)) continue
      if (id === nodeId('R', one.id)) return repository(one) ?? {}
      for (const each of one.record.issues) {
        if (each.gone) continue
        if (each.nodeId === id) return issue(each)
        const found = each.comments.find(c => c.nodeId === id)
        if (found) return comment(found)
      }
    }
    throw unresolved(`a node with the global id of '${id}'`)
  }
  return {
    node,
    nodes: ({ ids }) =>
      ids.map(id => {
        try {
          return node({ id })
        } catch (error) {
          return error as Error
        }
      }),
    repository: ({ owner, name }) => {
      const found = services.repositories.exact(owner, name)
      if (!found || !visible(found)) throw unresolved(`a Repository with the name '${owner}/${name}'`)
      return repository(found) ?? {}
    },
    viewer: () => {
      const who =
        caller.kind === 'user' || caller.kind === 'installation' || caller.kind === 'job' ? actor(caller.user) : null
      if (!who) throw unresolved('a viewer')
      return who
    },
  }
}
