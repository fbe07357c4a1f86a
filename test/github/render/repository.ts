import type { RepositoryRecord } from '../model.ts'
import { iso, nodeId, type World } from '../world.ts'
import { simpleUser } from './people.ts'

/** What `minimal-repository`, `repository`, `full-repository` and `repository-webhooks` have in common. */
function base(world: World, record: RepositoryRecord) {
  const full = `${record.owner.login}/${record.name}`
  const url = `${world.apiUrl}/repos/${full}`
  const html = `${world.serverUrl}/${full}`
  return {
    id: record.id,
    node_id: nodeId('R', record.id),
    name: record.name,
    full_name: full,
    private: record.private,
    owner: simpleUser(world, record.owner),
    html_url: html,
    description: null,
    fork: record.fork,
    url,
    forks_url: `${url}/forks`,
    keys_url: `${url}/keys{/key_id}`,
    collaborators_url: `${url}/collaborators{/collaborator}`,
    teams_url: `${url}/teams`,
    hooks_url: `${url}/hooks`,
    issue_events_url: `${url}/issues/events{/number}`,
    events_url: `${url}/events`,
    assignees_url: `${url}/assignees{/user}`,
    branches_url: `${url}/branches{/branch}`,
    tags_url: `${url}/tags`,
    blobs_url: `${url}/git/blobs{/sha}`,
    git_tags_url: `${url}/git/tags{/sha}`,
    git_refs_url: `${url}/git/refs{/sha}`,
    trees_url: `${url}/git/trees{/sha}`,
    statuses_url: `${url}/statuses/{sha}`,
    languages_url: `${url}/languages`,
    stargazers_url: `${url}/stargazers`,
    contributors_url: `${url}/contributors`,
    subscribers_url: `${url}/subscribers`,
    subscription_url: `${url}/subscription`,
    commits_url: `${url}/commits{/sha}`,
    git_commits_url: `${url}/git/commits{/sha}`,
    comments_url: `${url}/comments{/number}`,
    issue_comment_url: `${url}/issues/comments{/number}`,
    contents_url: `${url}/contents/{+path}`,
    compare_url: `${url}/compare/{base}...{head}`,
    merges_url: `${url}/merges`,
    archive_url: `${url}/{archive_format}{/ref}`,
    downloads_url: `${url}/downloads`,
    issues_url: `${url}/issues{/number}`,
    pulls_url: `${url}/pulls{/number}`,
    milestones_url: `${url}/milestones{/number}`,
    notifications_url: `${url}/notifications{?since,all,participating}`,
    labels_url: `${url}/labels{/name}`,
    releases_url: `${url}/releases{/id}`,
    deployments_url: `${url}/deployments`,
  }
}

/** GitHub's `minimal-repository`, as workflow runs carry it. */
export const minimalRepository = base

/** GitHub's `repository`, which webhook payloads carry too. */
export function repository(world: World, record: RepositoryRecord) {
  const html = `${world.serverUrl}/${record.owner.login}/${record.name}`
  const open = record.issues.filter(issue => issue.state === 'open' && !issue.gone).length
  return {
    ...base(world, record),
    created_at: iso(record.createdAt),
    updated_at: iso(record.pushedAt),
    pushed_at: iso(record.pushedAt),
    git_url: html.replace(/^https?/, 'git').concat('.git'),
    ssh_url: `git@github.example:${record.owner.login}/${record.name}.git`,
    clone_url: `${html}.git`,
    svn_url: html,
    mirror_url: null,
    homepage: null,
    size: 1,
    stargazers_count: 0,
    watchers_count: 0,
    language: null,
    has_issues: record.hasIssues,
    has_projects: true,
    has_downloads: true,
    has_wiki: true,
    has_pages: false,
    has_discussions: false,
    forks_count: 0,
    archived: record.archived,
    disabled: false,
    open_issues_count: open,
    license: null,
    allow_forking: true,
    is_template: false,
    web_commit_signoff_required: false,
    topics: [],
    visibility: record.private ? 'private' : 'public',
    forks: 0,
    open_issues: open,
    watchers: 0,
    default_branch: record.defaultBranch,
  }
}

/** GitHub's `full-repository`; `permissions` are the caller's. */
export function fullRepository(world: World, record: RepositoryRecord, permissions: object) {
  return { ...repository(world, record), permissions, network_count: 0, subscribers_count: 0 }
}
