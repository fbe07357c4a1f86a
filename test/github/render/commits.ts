import { blobSha } from '../git.ts'
import type { Commit, CommitStatus, GitIdentity, RepositoryRecord } from '../model.ts'
import { iso, nodeId, type World } from '../world.ts'
import { maybeUser, simpleUser } from './people.ts'

const urls = (world: World, record: RepositoryRecord) => ({
  api: `${world.apiUrl}/repos/${record.owner.login}/${record.name}`,
  html: `${world.serverUrl}/${record.owner.login}/${record.name}`,
})

/** GitHub's `commit`. */
export function commit(world: World, record: RepositoryRecord, one: Commit) {
  const { api, html } = urls(world, record)
  const person = (who: GitIdentity) => ({ name: who.name, email: who.email, date: iso(one.at) })
  return {
    sha: one.sha,
    node_id: `C_${one.sha}`,
    commit: {
      author: person(one.author),
      committer: person(one.committer),
      message: one.message,
      tree: { sha: one.tree, url: `${api}/git/trees/${one.tree}` },
      url: `${api}/git/commits/${one.sha}`,
      comment_count: 0,
      verification: { verified: false, reason: 'unsigned', signature: null, payload: null, verified_at: null },
    },
    url: `${api}/commits/${one.sha}`,
    html_url: `${html}/commit/${one.sha}`,
    comments_url: `${api}/commits/${one.sha}/comments`,
    author: maybeUser(world, one.author.user),
    committer: maybeUser(world, one.committer.user),
    parents: one.parents.map(sha => ({ sha, url: `${api}/commits/${sha}`, html_url: `${html}/commit/${sha}` })),
  }
}

/** GitHub's `simple-commit`, as workflow runs carry it. */
export function simpleCommit(one: Commit) {
  const person = (who: GitIdentity) => ({ name: who.name, email: who.email })
  return {
    id: one.sha,
    tree_id: one.tree,
    message: one.message,
    timestamp: iso(one.at),
    author: person(one.author),
    committer: person(one.committer),
  }
}

export function branch(world: World, record: RepositoryRecord, name: string, head: Commit) {
  const { api, html } = urls(world, record)
  return {
    name,
    commit: commit(world, record, head),
    _links: { self: `${api}/branches/${name}`, html: `${html}/tree/${name}` },
    protected: false,
    protection: { enabled: false, required_status_checks: { enforcement_level: 'off', contexts: [], checks: [] } },
    protection_url: `${api}/branches/${name}/protection`,
  }
}

export function gitRef(world: World, record: RepositoryRecord, ref: string, sha: string, type: 'commit' | 'tag') {
  const { api } = urls(world, record)
  return {
    ref,
    node_id: `REF_${Buffer.from(ref).toString('base64url')}`,
    url: `${api}/git/${ref}`,
    object: { sha, type, url: `${api}/git/${type}s/${sha}` },
  }
}

/** GitHub's `git-tag`: the object of an annotated tag. */
export function gitTag(world: World, record: RepositoryRecord, name: string, sha: string, commit: Commit) {
  const { api } = urls(world, record)
  return {
    node_id: `TA_${sha}`,
    tag: name,
    sha,
    url: `${api}/git/tags/${sha}`,
    message: name,
    tagger: { name: 'double', email: 'double@example.com', date: iso(commit.at) },
    object: { type: 'commit', sha: commit.sha, url: `${api}/git/commits/${commit.sha}` },
  }
}

export function tag(world: World, record: RepositoryRecord, name: string, sha: string) {
  const { api } = urls(world, record)
  return {
    name,
    zipball_url: `${api}/zipball/refs/tags/${name}`,
    tarball_url: `${api}/tarball/refs/tags/${name}`,
    commit: { sha, url: `${api}/commits/${sha}` },
    node_id: `REF_${Buffer.from(name).toString('base64url')}`,
  }
}

export function status(world: World, record: RepositoryRecord, one: CommitStatus) {
  const { api } = urls(world, record)
  return {
    url: `${api}/statuses/${one.sha}`,
    avatar_url: `${world.serverUrl}/avatars/u/${one.creator.id}?v=4`,
    id: one.id,
    node_id: nodeId('SC', one.id),
    state: one.state,
    description: one.description,
    target_url: one.targetUrl,
    context: one.context,
    created_at: iso(one.createdAt),
    updated_at: iso(one.createdAt),
    creator: simpleUser(world, one.creator),
  }
}

/** Above it a file's content is not shown (REST reference, "Get repository content", notes on size). */
const shownBytes = 1_048_576

/** GitHub's `content-file`. */
export function contentFile(world: World, record: RepositoryRecord, path: string, ref: string, content: Uint8Array) {
  const { api, html } = urls(world, record)
  const sha = blobSha(content)
  const self = `${api}/contents/${path}?ref=${encodeURIComponent(ref)}`
  const gitUrl = `${api}/git/blobs/${sha}`
  const htmlUrl = `${html}/blob/${ref}/${path}`
  return {
    name: path.split('/').at(-1) ?? path,
    path,
    sha,
    size: content.length,
    url: self,
    html_url: htmlUrl,
    git_url: gitUrl,
    download_url: `${html}/raw/${ref}/${path}`,
    type: 'file',
    ...(content.length > shownBytes
      ? { content: '', encoding: 'none' }
      : {
          content: Buffer.from(content)
            .toString('base64')
            .replaceAll(/(.{60})/g, '$1\n'),
          encoding: 'base64',
        }),
    _links: { self, git: gitUrl, html: htmlUrl },
  }
}
