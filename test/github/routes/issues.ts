import { roleOf } from '../access.ts'
import { type Call, onRepository, type Route } from '../call.ts'
import { invalid, issueDeleted, moved, needsAdmin, notFound } from '../errors.ts'
import type { Comment, Issue, Reaction, User } from '../model.ts'
import {
  comment as commentBody,
  issueEvent as eventBody,
  issue as issueBody,
  label as labelBody,
  reaction as reactionBody,
} from '../render/issues.ts'
import { author } from './author.ts'

// Either permission suffices where the number may be a pull request.
const READ = onRepository([
  ['issues', 'read'],
  ['pull_requests', 'read'],
])
const WRITE = onRepository([
  ['issues', 'write'],
  ['pull_requests', 'write'],
])

function findIssue(call: Call): Issue {
  const issue = call.repository.record.issues.find(one => one.number === Number(call.params['issue_number']))
  if (!issue) throw notFound()
  if (issue.gone?.kind === 'deleted') throw issueDeleted()
  if (issue.gone) {
    const to = issue.gone.to
    throw moved(`${call.services.world.apiUrl}/repositories/${to.repository.id}/issues/${to.number}`, true)
  }
  return issue
}

function findComment(call: Call): Comment {
  for (const issue of call.repository.record.issues) {
    const found = issue.gone ? undefined : issue.comments.find(one => one.id === Number(call.params['comment_id']))
    if (found) return found
  }
  throw notFound()
}

/** Whether the caller may set labels, assignees and state: push access, or an App or job with the permission. */
const mayTriage = (call: Call): boolean =>
  call.caller.kind !== 'user' ||
  !['none', 'read'].includes(roleOf(call.repository, call.caller.user, call.services.teams).roleName)

function assignees(call: Call, names: unknown): User[] {
  return (Array.isArray(names) ? (names as string[]) : []).map(login => {
    const user = call.services.people.find(login)
    // https://docs.github.com/rest/issues/assignees: only people with access can be assigned.
    if (!user || roleOf(call.repository, user, call.services.teams).permission === 'none') {
      throw invalid('Issue', 'assignees', 'invalid', `${login} cannot be assigned`)
    }
    return user
  })
}

const labelNames = (value: unknown): string[] =>
  (Array.isArray(value) ? value : []).map(one =>
    typeof one === 'string' ? one : String((one as { name?: unknown }).name ?? ''),
  )

function create(call: Call) {
  const { services, repository, body } = call
  const allowed = mayTriage(call)
  const issue = services.issues.create(repository.record, author(call.caller), {
    title: String(body['title'] ?? ''),
    body: typeof body['body'] === 'string' ? body['body'] : '',
    // Silently dropped without push access, as GitHub does.
    labels: allowed ? labelNames(body['labels']) : [],
    assignees: allowed ? assignees(call, body['assignees']) : [],
  })
  return { status: 201, body: issueBody(services.world, issue) }
}

function update(call: Call) {
  const issue = findIssue(call)
  const { body } = call
  const who = author(call.caller)
  if (!mayTriage(call) && issue.user !== who.user) throw needsAdmin()
  call.services.issues.update(issue, who, {
    title: typeof body['title'] === 'string' ? body['title'] : undefined,
    body: typeof body['body'] === 'string' ? body['body'] : body['body'] === null ? '' : undefined,
    state: body['state'] as 'open' | 'closed' | undefined,
    stateReason: body['state_reason'] as Issue['stateReason'] | undefined,
    labels: body['labels'] === undefined ? undefined : labelNames(body['labels']),
    assignees: body['assignees'] === undefined ? undefined : assignees(call, body['assignees']),
  })
  return { status: 200, body: issueBody(call.services.world, issue) }
}

/** `since` is by updated_at, with the whole seconds that clients see. */
const since = (call: Call, updatedAt: Date): boolean => {
  const from = call.query['since']
  return from === undefined || Math.floor(updatedAt.getTime() / 1000) >= Math.floor(Date.parse(from) / 1000)
}

function list(call: Call) {
  const { query, services, repository } = call
  const state = query['state'] ?? 'open'
  const labels = (query['labels'] ?? '')
    .split(',')
    .filter(Boolean)
    .map(name => name.toLowerCase())
  const found = repository.record.issues.filter(
    one =>
      !one.gone &&
      (state === 'all' || one.state === state) &&
      labels.every(name => one.labels.some(label => label.name.toLowerCase() === name)) &&
      (query['creator'] === undefined || one.user.login.toLowerCase() === query['creator'].toLowerCase()) &&
      since(call, one.updatedAt),
  )
  return { list: sorted(call, found, 'desc').map(one => issueBody(services.world, one)) }
}

/** Sorted by created or updated time, ids breaking ties. */
function sorted<T extends { id: number; createdAt: Date; updatedAt: Date }>(
  call: Call,
  items: T[],
  direction: 'asc' | 'desc',
): T[] {
  const key = call.query['sort'] === 'updated' ? 'updatedAt' : 'createdAt'
  const sign = (call.query['direction'] ?? direction) === 'asc' ? 1 : -1
  return [...items].sort((a, b) => sign * (a[key].getTime() - b[key].getTime() || a.id - b.id))
}

/** Only the author and people with write access may change a comment. */
function mayChange(call: Call, comment: Comment): void {
  if (call.caller.kind !== 'user' || comment.user === call.caller.user) return
  if (!['write', 'admin'].includes(roleOf(call.repository, call.caller.user, call.services.teams).permission))
    throw needsAdmin()
}

function react(call: Call, target: { reactions: Reaction[] }) {
  const { reaction, created } = call.services.issues.react(
    target,
    author(call.caller).user,
    call.body['content'] as Reaction['content'],
  )
  return { status: created ? 201 : 200, body: reactionBody(call.services.world, reaction) }
}

export const issueRoutes: readonly Route[] = [
  { operation: 'GET /repos/{owner}/{repo}/issues', access: READ, handle: list },
  { operation: 'POST /repos/{owner}/{repo}/issues', access: onRepository([['issues', 'write']]), handle: create },
  {
    operation: 'GET /repos/{owner}/{repo}/issues/{issue_number}',
    access: READ,
    handle: call => ({ status: 200, body: issueBody(call.services.world, findIssue(call)) }),
  },
  { operation: 'PATCH /repos/{owner}/{repo}/issues/{issue_number}', access: WRITE, handle: update },
  {
    operation: 'GET /repos/{owner}/{repo}/issues/comments',
    access: READ,
    handle: call => {
      const all = call.repository.record.issues.filter(one => !one.gone).flatMap(one => one.comments)
      const found = sorted(
        call,
        all.filter(one => since(call, one.updatedAt)),
        'asc',
      )
      return { list: found.map(one => commentBody(call.services.world, one)) }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments',
    access: READ,
    handle: call => ({
      list: findIssue(call)
        .comments.filter(one => since(call, one.updatedAt))
        .map(one => commentBody(call.services.world, one)),
    }),
  },
  {
    operation: 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments',
    access: WRITE,
    handle: call => {
      const made = call.services.issues.comment(findIssue(call), author(call.caller), String(call.body['body'] ?? ''))
      return { status: 201, body: commentBody(call.services.world, made) }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/issues/comments/{comment_id}',
    access: READ,
    handle: call => ({ status: 200, body: commentBody(call.services.world, findComment(call)) }),
  },
  {
    operation: 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}',
    access: WRITE,
    handle: call => {
      const comment = findComment(call)
      mayChange(call, comment)
      call.services.issues.editComment(comment, author(call.caller), String(call.body['body'] ?? ''))
      return { status: 200, body: commentBody(call.services.world, comment) }
    },
  },
  {
    operation: 'DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}',
    access: WRITE,
    handle: call => {
      const comment = findComment(call)
      mayChange(call, comment)
      call.services.issues.deleteComment(comment, author(call.caller).user)
      return { status: 204 }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions',
    access: READ,
    handle: call => ({ list: findComment(call).reactions.map(one => reactionBody(call.services.world, one)) }),
  },
  {
    operation: 'POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions',
    access: WRITE,
    handle: call => react(call, findComment(call)),
  },
  {
    operation: 'GET /repos/{owner}/{repo}/issues/{issue_number}/reactions',
    access: READ,
    handle: call => ({ list: findIssue(call).reactions.map(one => reactionBody(call.services.world, one)) }),
  },
  {
    operation: 'POST /repos/{owner}/{repo}/issues/{issue_number}/reactions',
    access: WRITE,
    handle: call => react(call, findIssue(call)),
  },
  {
    operation: 'GET /repos/{owner}/{repo}/issues/{issue_number}/events',
    access: READ,
    handle: call => {
      const issue = findIssue(call)
      return { list: issue.events.map(one => eventBody(call.services.world, issue, one)) }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/issues/{issue_number}/labels',
    access: READ,
    handle: call => ({
      list: findIssue(call).labels.map(one => labelBody(call.services.world, call.repository.record, one)),
    }),
  },
  {
    operation: 'POST /repos/{owner}/{repo}/issues/{issue_number}/labels',
    access: onRepository(
      [
        ['issues', 'write'],
        ['pull_requests', 'write'],
      ],
      'triage',
    ),
    handle: call => {
      const issue = findIssue(call)
      const names = [...issue.labels.map(one => one.name), ...labelNames(call.body['labels'])]
      call.services.issues.update(issue, author(call.caller), { labels: [...new Set(names)] })
      return { status: 200, body: issue.labels.map(one => labelBody(call.services.world, call.repository.record, one)) }
    },
  },
  {
    operation: 'POST /repos/{owner}/{repo}/issues/{issue_number}/assignees',
    access: onRepository(
      [
        ['issues', 'write'],
        ['pull_requests', 'write'],
      ],
      'triage',
    ),
    handle: call => {
      const issue = findIssue(call)
      // Unlike create, this endpoint leaves out whom it cannot assign, without an error.
      const users = labelNames(call.body['assignees']).flatMap(login => call.services.people.find(login) ?? [])
      const able = users.filter(user => roleOf(call.repository, user, call.services.teams).permission !== 'none')
      call.services.issues.update(issue, author(call.caller), {
        assignees: [...new Set([...issue.assignees, ...able])],
      })
      return { status: 201, body: issueBody(call.services.world, issue) }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/labels',
    access: READ,
    handle: ({ services, repository }) => ({
      list: repository.record.labels.map(one => labelBody(services.world, repository.record, one)),
    }),
  },
  {
    operation: 'GET /repos/{owner}/{repo}/labels/{name}',
    access: READ,
    handle: ({ services, repository, params }) => {
      const found = repository.record.labels.find(one => one.name.toLowerCase() === params['name']?.toLowerCase())
      if (!found) throw notFound()
      return { status: 200, body: labelBody(services.world, repository.record, found) }
    },
  },
  {
    operation: 'POST /repos/{owner}/{repo}/labels',
    access: onRepository(
      [
        ['issues', 'write'],
        ['pull_requests', 'write'],
      ],
      'write',
    ),
    handle: ({ services, repository, body }) => {
      const name = String(body['name'] ?? '')
      if (repository.record.labels.some(one => one.name.toLowerCase() === name.toLowerCase()))
        throw invalid('Label', 'name', 'already_exists')
      return {
        status: 201,
        body: labelBody(services.world, repository.record, services.issues.label(repository.record, name)),
      }
    },
  },
]
