import type { Comment, Issue, IssueEvent, Label, Pull, Reaction, RepositoryRecord } from '../model.ts'
import { iso, maybeIso, nodeId, type World } from '../world.ts'
import { maybeIntegration, maybeUser, simpleUser } from './people.ts'
import { repository } from './repository.ts'

const repositoryUrl = (world: World, record: RepositoryRecord) =>
  `${world.apiUrl}/repos/${record.owner.login}/${record.name}`
const pageUrl = (world: World, issue: Issue) =>
  `${world.serverUrl}/${issue.repository.owner.login}/${issue.repository.name}/${issue.pull ? 'pull' : 'issues'}/${issue.number}`

export function label(world: World, record: RepositoryRecord, one: Label) {
  return {
    id: one.id,
    node_id: nodeId('LA', one.id),
    url: `${repositoryUrl(world, record)}/labels/${encodeURIComponent(one.name)}`,
    name: one.name,
    color: one.color,
    default: false,
    description: one.description,
  }
}

export function reaction(world: World, one: Reaction) {
  return {
    id: one.id,
    node_id: nodeId('REA', one.id),
    user: simpleUser(world, one.user),
    content: one.content,
    created_at: iso(one.createdAt),
  }
}

function rollup(reactions: Reaction[], url: string) {
  const count = (content: Reaction['content']) => reactions.filter(r => r.content === content).length
  return {
    url: `${url}/reactions`,
    total_count: reactions.length,
    '+1': count('+1'),
    '-1': count('-1'),
    laugh: count('laugh'),
    hooray: count('hooray'),
    confused: count('confused'),
    heart: count('heart'),
    rocket: count('rocket'),
    eyes: count('eyes'),
  }
}

function association(record: RepositoryRecord, user: { id: number }): 'OWNER' | 'COLLABORATOR' | 'NONE' {
  if (record.owner.id === user.id) return 'OWNER'
  return record.collaborators.has(user.id) ? 'COLLABORATOR' : 'NONE'
}

/** GitHub's `issue`. */
export function issue(world: World, one: Issue) {
  const url = `${repositoryUrl(world, one.repository)}/issues/${one.number}`
  const html = pageUrl(world, one)
  return {
    url,
    repository_url: repositoryUrl(world, one.repository),
    labels_url: `${url}/labels{/name}`,
    comments_url: `${url}/comments`,
    events_url: `${url}/events`,
    html_url: html,
    id: one.id,
    node_id: one.nodeId,
    number: one.number,
    title: one.title,
    user: simpleUser(world, one.user),
    labels: one.labels.map(l => label(world, one.repository, l)),
    state: one.state,
    locked: one.locked,
    assignee: maybeUser(world, one.assignees[0] ?? null),
    assignees: one.assignees.map(user => simpleUser(world, user)),
    milestone: null,
    comments: one.comments.length,
    created_at: iso(one.createdAt),
    updated_at: iso(one.updatedAt),
    closed_at: maybeIso(one.closedAt),
    author_association: association(one.repository, one.user),
    active_lock_reason: null,
    body: one.body === '' ? null : one.body,
    closed_by: maybeUser(world, one.closedBy),
    reactions: rollup(one.reactions, url),
    timeline_url: `${url}/timeline`,
    performed_via_github_app: maybeIntegration(world, one.via),
    state_reason: one.stateReason,
    ...(one.pull && {
      draft: one.pull.draft,
      pull_request: {
        url: `${repositoryUrl(world, one.repository)}/pulls/${one.number}`,
        html_url: html,
        diff_url: `${html}.diff`,
        patch_url: `${html}.patch`,
        merged_at: null,
      },
    }),
  }
}

/** An issue in a webhook payload: without `closed_by`. */
export function webhookIssue(world: World, one: Issue) {
  const { closed_by: _, ...rest } = issue(world, one)
  return rest
}

/** GitHub's `state-change-issue-event` and `renamed-issue-event`. */
export function issueEvent(world: World, of: Issue, one: IssueEvent) {
  const url = repositoryUrl(world, of.repository)
  return {
    id: one.id,
    node_id: nodeId('IE', one.id),
    url: `${url}/issues/events/${one.id}`,
    actor: simpleUser(world, one.actor),
    event: one.event,
    commit_id: one.commit,
    commit_url: one.commit === null ? null : `${url}/commits/${one.commit}`,
    created_at: iso(one.createdAt),
    performed_via_github_app: maybeIntegration(world, one.via),
    ...(one.rename && { rename: one.rename }),
  }
}

/** GitHub's `issue-comment`. */
export function comment(world: World, one: Comment) {
  const url = `${repositoryUrl(world, one.issue.repository)}/issues/comments/${one.id}`
  return {
    url,
    html_url: `${pageUrl(world, one.issue)}#issuecomment-${one.id}`,
    issue_url: `${repositoryUrl(world, one.issue.repository)}/issues/${one.issue.number}`,
    id: one.id,
    node_id: one.nodeId,
    user: simpleUser(world, one.user),
    created_at: iso(one.createdAt),
    updated_at: iso(one.updatedAt),
    body: one.body,
    author_association: association(one.issue.repository, one.user),
    reactions: rollup(one.reactions, url),
    performed_via_github_app: maybeIntegration(world, one.via),
  }
}

/** GitHub's `pull-request`. */
export function pullRequest(world: World, one: Issue & { pull: Pull }, commits: number) {
  const url = `${repositoryUrl(world, one.repository)}/pulls/${one.number}`
  const issueUrl = `${repositoryUrl(world, one.repository)}/issues/${one.number}`
  const html = pageUrl(world, one)
  const { head, base } = one.pull
  const statuses = `${repositoryUrl(world, one.repository)}/statuses/${head.sha}`
  const links = {
    self: url,
    html,
    issue: issueUrl,
    comments: `${issueUrl}/comments`,
    review_comments: `${url}/comments`,
    review_comment: `${url}/comments{/number}`,
    commits: `${url}/commits`,
    statuses,
  }
  return {
    url,
    id: one.id,
    node_id: one.nodeId,
    html_url: html,
    diff_url: `${html}.diff`,
    patch_url: `${html}.patch`,
    issue_url: issueUrl,
    commits_url: links.commits,
    review_comments_url: links.review_comments,
    review_comment_url: links.review_comment,
    comments_url: links.comments,
    statuses_url: statuses,
    number: one.number,
    state: one.state,
    locked: one.locked,
    title: one.title,
    user: simpleUser(world, one.user),
    body: one.body === '' ? null : one.body,
    created_at: iso(one.createdAt),
    updated_at: iso(one.updatedAt),
    closed_at: maybeIso(one.closedAt),
    merged_at: null,
    merge_commit_sha: null,
    assignee: maybeUser(world, one.assignees[0] ?? null),
    assignees: one.assignees.map(user => simpleUser(world, user)),
    requested_reviewers: [],
    requested_teams: [],
    labels: one.labels.map(l => label(world, one.repository, l)),
    milestone: null,
    draft: one.pull.draft,
    head: {
      label: `${head.user.login}:${head.ref}`,
      ref: head.ref,
      sha: head.sha,
      user: simpleUser(world, head.user),
      repo: repository(world, head.repository),
    },
    base: {
      label: `${one.repository.owner.login}:${base.ref}`,
      ref: base.ref,
      sha: base.sha,
      user: simpleUser(world, one.repository.owner),
      repo: repository(world, one.repository),
    },
    _links: Object.fromEntries(Object.entries(links).map(([name, href]) => [name, { href }])),
    author_association: association(one.repository, one.user),
    auto_merge: null,
    active_lock_reason: null,
    merged: one.pull.merged,
    mergeable: true,
    rebaseable: true,
    mergeable_state: 'clean',
    merged_by: null,
    comments: one.comments.length,
    review_comments: 0,
    maintainer_can_modify: false,
    commits,
    additions: 1,
    deletions: 0,
    changed_files: 1,
  }
}
