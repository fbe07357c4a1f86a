import { roleOf } from '../access.ts'
import { type Call, onRepository, type Route } from '../call.ts'
import { archived, invalid, noCommit, notFound } from '../errors.ts'
import type { Commit, CommitStatus } from '../model.ts'
import {
  branch,
  commit as commitBody,
  contentFile,
  gitRef,
  gitTag,
  status as statusBody,
  tag,
} from '../render/commits.ts'
import { pullRequest } from '../render/issues.ts'
import { fullRepository, minimalRepository } from '../render/repository.ts'
import { author } from './author.ts'

const CONTENTS = onRepository([['contents', 'read']])
const PULLS = onRepository([['pull_requests', 'read']])

/** The commit that a branch, tag, full ref or sha (or a prefix of one) names. Throws 404, or 422 where a sha is unknown. */
export function resolveRef(call: Call, ref: string): Commit {
  const { record } = call.repository
  const name = ref.replace(/^(?:refs\/)?(?:heads|tags)\//, '')
  const sha = record.branches.get(name) ?? record.tags.get(name) ?? (/^[0-9a-f]{7,40}$/.test(ref) ? ref : undefined)
  const found =
    sha === undefined
      ? undefined
      : (record.commits.get(sha) ?? [...record.commits.values()].find(c => c.sha.startsWith(sha)))
  if (found) return found
  throw /^[0-9a-f]{40}$/.test(ref) ? noCommit(ref) : notFound()
}

/** The commit and its first-parent history, newest first. */
function history(call: Call, from: Commit): Commit[] {
  const result: Commit[] = []
  for (let at: Commit | undefined = from; at; at = call.repository.record.commits.get(at.parents[0] ?? ''))
    result.push(at)
  return result
}

function contents(call: Call) {
  const { services, repository } = call
  const ref = call.query['ref'] ?? repository.record.defaultBranch
  const commit = resolveRef(call, ref)
  const path = (call.params['path'] ?? '').replace(/^\/|\/$/g, '')
  const content = commit.files.get(path)
  if (content) return { status: 200, body: contentFile(services.world, repository.record, path, ref, content) }
  const below = [...commit.files].filter(
    ([name]) => name.startsWith(`${path}/`) && !name.slice(path.length + 1).includes('/'),
  )
  if (below.length === 0) throw notFound()
  const entries = below.map(([name, bytes]) => {
    const { content: _, encoding: __, ...entry } = contentFile(services.world, repository.record, name, ref, bytes)
    return entry
  })
  return { status: 200, body: entries }
}

function pull(call: Call) {
  const issue = call.repository.record.issues.find(one => one.number === Number(call.params['pull_number']))
  if (!issue?.pull) throw notFound()
  return { ...issue, pull: issue.pull }
}

function pullCommits(call: Call, one: ReturnType<typeof pull>): Commit[] {
  const base = new Set(history(call, resolveRef(call, one.pull.base.sha)).map(c => c.sha))
  const result: Commit[] = []
  const from = one.pull.head.repository
  for (
    let at = from.commits.get(one.pull.head.sha);
    at && !base.has(at.sha);
    at = from.commits.get(at.parents[0] ?? '')
  )
    result.push(at)
  return result.reverse()
}

function createStatus(call: Call) {
  const { services, repository, body } = call
  const sha = call.params['sha'] ?? ''
  if (repository.record.archived) throw archived()
  // https://docs.github.com/rest/commits/statuses: 422 for an unknown sha and above 1000 statuses per sha and context.
  if (!repository.record.commits.has(sha)) throw noCommit(sha)
  const description = typeof body['description'] === 'string' ? body['description'] : null
  if (description !== null && description.length > 140)
    throw invalid('Status', 'description', 'custom', 'description is too long (maximum is 140 characters)')
  const status: CommitStatus = {
    id: services.world.id(),
    sha,
    state: body['state'] as CommitStatus['state'],
    context: typeof body['context'] === 'string' ? body['context'] : 'default',
    description,
    targetUrl: typeof body['target_url'] === 'string' ? body['target_url'] : null,
    creator: author(call.caller).user,
    createdAt: services.world.now(),
  }
  repository.record.statuses.push(status)
  return { status: 201, body: statusBody(services.world, repository.record, status) }
}

function combinedStatus(call: Call) {
  const { services, repository } = call
  const { sha } = resolveRef(call, call.params['ref'] ?? '')
  const latest = new Map(repository.record.statuses.filter(s => s.sha === sha).map(s => [s.context, s]))
  const states = [...latest.values()].map(s => s.state)
  const state = states.some(s => s === 'failure' || s === 'error')
    ? 'failure'
    : states.length === 0 || states.includes('pending')
      ? 'pending'
      : 'success'
  const url = `${services.world.apiUrl}/repos/${repository.fullName}/commits/${sha}`
  const statuses = [...latest.values()].map(s => {
    const { creator: _, ...simple } = statusBody(services.world, repository.record, s)
    return simple
  })
  return {
    status: 200,
    body: {
      state,
      statuses,
      sha,
      total_count: latest.size,
      repository: minimalRepository(services.world, repository.record),
      commit_url: url,
      url: `${url}/status`,
    },
  }
}

function compare(call: Call) {
  const { services, repository } = call
  const [base = '', head = ''] = (call.params['basehead'] ?? '').split('...')
  const [from, to] = [resolveRef(call, base), resolveRef(call, head)]
  const known = new Set(history(call, from).map(c => c.sha))
  const ahead = history(call, to)
    .filter(c => !known.has(c.sha))
    .reverse()
  const reached = new Set(history(call, to).map(c => c.sha))
  const behind = history(call, from).filter(c => !reached.has(c.sha))
  const common = history(call, to).find(c => known.has(c.sha)) ?? from
  const url = `${services.world.apiUrl}/repos/${repository.fullName}/compare/${base}...${head}`
  const html = `${services.world.serverUrl}/${repository.fullName}/compare/${base}...${head}`
  const status =
    ahead.length > 0 ? (behind.length > 0 ? 'diverged' : 'ahead') : behind.length > 0 ? 'behind' : 'identical'
  return {
    status: 200,
    body: {
      url,
      html_url: html,
      permalink_url: html,
      diff_url: `${html}.diff`,
      patch_url: `${html}.patch`,
      base_commit: commitBody(services.world, repository.record, from),
      merge_base_commit: commitBody(services.world, repository.record, common),
      status,
      ahead_by: ahead.length,
      behind_by: behind.length,
      total_commits: ahead.length,
      commits: ahead.slice(0, 250).map(c => commitBody(services.world, repository.record, c)),
      files: [],
    },
  }
}

export const repositoryRoutes: readonly Route[] = [
  {
    operation: 'GET /repos/{owner}/{repo}',
    access: onRepository([['metadata', 'read']]),
    handle: ({ services, repository, caller }) => {
      const role = caller.kind === 'user' ? roleOf(repository, caller.user, services.teams).permission : 'read'
      const permissions = {
        admin: role === 'admin',
        maintain: role === 'admin',
        push: role === 'admin' || role === 'write',
        triage: role !== 'read',
        pull: true,
      }
      return { status: 200, body: fullRepository(services.world, repository.record, permissions) }
    },
  },
  { operation: 'GET /repos/{owner}/{repo}/contents/{path}', access: CONTENTS, handle: contents },
  {
    operation: 'GET /repos/{owner}/{repo}/branches/{branch}',
    access: CONTENTS,
    handle: call => {
      const name = call.params['branch'] ?? ''
      const sha = call.repository.record.branches.get(name)
      if (sha === undefined) throw notFound()
      return { status: 200, body: branch(call.services.world, call.repository.record, name, resolveRef(call, sha)) }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/git/ref/{ref}',
    access: CONTENTS,
    handle: ({ services, repository, params }) => {
      const [kind, ...rest] = (params['ref'] ?? '').split('/')
      const name = rest.join('/')
      const sha =
        kind === 'heads'
          ? repository.record.branches.get(name)
          : kind === 'tags'
            ? repository.record.tags.get(name)
            : undefined
      if (sha === undefined) throw notFound()
      const object = kind === 'tags' ? repository.record.tagObjects.get(name) : undefined
      return {
        status: 200,
        body: gitRef(
          services.world,
          repository.record,
          `refs/${kind}/${name}`,
          object ?? sha,
          object === undefined ? 'commit' : 'tag',
        ),
      }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/git/tags/{tag_sha}',
    access: CONTENTS,
    handle: call => {
      const { record } = call.repository
      const [name, sha] = [...record.tagObjects].find(([, object]) => object === call.params['tag_sha']) ?? []
      if (name === undefined || sha === undefined) throw notFound()
      return {
        status: 200,
        body: gitTag(call.services.world, record, name, sha, resolveRef(call, record.tags.get(name) ?? '')),
      }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/tags',
    access: CONTENTS,
    handle: ({ services, repository }) => ({
      list: [...repository.record.tags].map(([name, sha]) => tag(services.world, repository.record, name, sha)),
    }),
  },
  {
    operation: 'GET /repos/{owner}/{repo}/commits',
    access: CONTENTS,
    handle: call => ({
      list: history(call, resolveRef(call, call.query['sha'] ?? call.repository.record.defaultBranch)).map(c =>
        commitBody(call.services.world, call.repository.record, c),
      ),
    }),
  },
  {
    operation: 'GET /repos/{owner}/{repo}/commits/{ref}',
    access: CONTENTS,
    handle: call => ({
      status: 200,
      body: commitBody(call.services.world, call.repository.record, resolveRef(call, call.params['ref'] ?? '')),
    }),
  },
  { operation: 'GET /repos/{owner}/{repo}/compare/{basehead}', access: CONTENTS, handle: compare },
  {
    operation: 'GET /repos/{owner}/{repo}/commits/{ref}/statuses',
    access: onRepository([['statuses', 'read']]),
    handle: call => {
      const { sha } = resolveRef(call, call.params['ref'] ?? '')
      const all = call.repository.record.statuses.filter(s => s.sha === sha).reverse()
      return { list: all.map(s => statusBody(call.services.world, call.repository.record, s)) }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/commits/{ref}/status',
    access: onRepository([['statuses', 'read']]),
    handle: combinedStatus,
  },
  {
    operation: 'POST /repos/{owner}/{repo}/statuses/{sha}',
    access: onRepository([['statuses', 'write']], 'write'),
    handle: createStatus,
  },
  {
    operation: 'GET /repos/{owner}/{repo}/pulls/{pull_number}',
    access: PULLS,
    handle: call => {
      const one = pull(call)
      return { status: 200, body: pullRequest(call.services.world, one, pullCommits(call, one).length) }
    },
  },
  {
    operation: 'GET /repos/{owner}/{repo}/pulls/{pull_number}/commits',
    access: PULLS,
    // GitHub lists at most 250 commits of a pull request.
    handle: call => ({
      list: pullCommits(call, pull(call))
        .slice(0, 250)
        .map(c => commitBody(call.services.world, call.repository.record, c)),
    }),
  },
  {
    operation: 'GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls',
    access: PULLS,
    handle: ({ services, repository, params }) => {
      const found = repository.record.issues.flatMap(one =>
        one.pull && one.pull.head.sha === params['commit_sha'] ? [{ ...one, pull: one.pull }] : [],
      )
      return { list: found.map(one => pullRequest(services.world, one, 1)) }
    },
  },
]
