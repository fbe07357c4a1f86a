import type { Octokit } from '@octokit/rest'
import type { Caller } from './caller.ts'
import { pages } from './issues.ts'
import { readAccount, readPeople } from './read.ts'
import { success } from './result.ts'
import type { FloorFile, GitHubRepository, RepositoryName } from './types.ts'

type Contents = Pick<GitHubRepository, 'info' | 'ref' | 'setStatus' | 'floorFiles' | 'pull' | 'pullCommits' | 'commits'>

const floorPath = '.github/agentctl/floor.yaml'
/** GitHub shows the commits of a pull request and of a comparison up to here. */
const mostCommits = 250
const textLimitBytes = 1_048_576

/** The repository itself: its facts, refs, statuses, files and the people behind its commits. */
export function contents(call: Caller, repository: RepositoryName, at: { owner: string; repo: string }): Contents {
  return {
    info: () =>
      call({ what: 'reading the repository' }, async octokit => {
        const { data } = await octokit.rest.repos.get(at)
        // A new repository under an old name is another repository.
        if (data.id !== repository.id) throw new Error(`${at.owner}/${at.repo} is now repository ${data.id}`)
        return {
          ...repository,
          owner: data.owner.login,
          name: data.name,
          isPrivate: data.private,
          isArchived: data.archived,
          hasIssues: data.has_issues,
          defaultBranch: data.default_branch,
        }
      }),
    ref: name =>
      call({ what: `reading ${name}` }, async octokit => {
        const { data } = await octokit.rest.git.getRef({ ...at, ref: name.replace(/^refs\//, '') })
        if (data.object.type !== 'tag') return { sha: data.object.sha }
        const tag = await octokit.rest.git.getTag({ ...at, tag_sha: data.object.sha })
        return { sha: tag.data.object.sha }
      }),
    setStatus: (sha, { targetUrl, ...status }) =>
      call({ what: `setting the status of ${sha.slice(0, 12)}`, write: true }, async octokit => {
        await octokit.rest.repos.createCommitStatus({ ...at, sha, target_url: targetUrl, ...status })
        return null
      }),
    async floorFiles() {
      const own = await call({ what: 'reading the floor' }, octokit => readText(octokit, { ...at, path: floorPath }))
      if (!own.ok) return own
      const shared = { owner: repository.owner, repo: '.github', path: floorPath }
      let organisation = await call({ what: "reading the organisation's floor", as: 'organisation' }, octokit =>
        readText(octokit, shared),
      )
      // 422: our App does not reach `.github`, or there is none; a public one can be read all the same.
      if (!organisation.ok && ['invalid', 'not_found'].includes(organisation.code)) {
        organisation = await call({ what: "reading the organisation's floor" }, octokit => readText(octokit, shared))
      }
      if (!organisation.ok && organisation.code !== 'not_found') return organisation
      return success({ repository: own.value, organisation: organisation.ok ? organisation.value : null })
    },
    pull: pull_number =>
      call({ what: `reading pull request #${pull_number}` }, async octokit => {
        const { data } = await octokit.rest.pulls.get({ ...at, pull_number })
        return { author: readAccount(data.user), headSha: data.head.sha }
      }),
    pullCommits: pull_number =>
      call({ what: `reading the commits of pull request #${pull_number}` }, async octokit => {
        const query = { ...at, pull_number, per_page: 100 }
        const found = await pages(3, page => octokit.rest.pulls.listCommits({ ...query, page }))
        return readPeople(found.slice(0, mostCommits), found.length >= mostCommits)
      }),
    commits: (base, head) =>
      call({ what: `reading the commits up to ${head.slice(0, 12)}` }, async octokit => {
        if (base === null || /^0*$/.test(base)) {
          return readPeople([(await octokit.rest.repos.getCommit({ ...at, ref: head })).data], false)
        }
        const query = { ...at, basehead: `${base}...${head}`, per_page: 100 }
        const found = await pages(3, async page => ({
          data: (await octokit.rest.repos.compareCommitsWithBasehead({ ...query, page })).data.commits,
        }))
        return readPeople(found.slice(0, mostCommits), found.length >= mostCommits)
      }),
  }
}

/** UTF-8 text of a file, null where there is none; a folder, a link or anything above 1 MiB is a fault, not an absence. */
export async function readText(
  octokit: Octokit,
  file: { owner: string; repo: string; path: string; ref?: string },
): Promise<FloorFile | null> {
  const answer = await octokit.rest.repos.getContent(file).catch((error: unknown) => {
    if (error instanceof Error && 'status' in error && error.status === 404) return null
    throw error
  })
  if (answer === null) return null
  const { data } = answer
  const place = `${file.owner}/${file.repo}:${file.path}`
  if (Array.isArray(data)) return { source: place, fault: 'it is a folder' }
  const source = `${place}@${data.sha}`
  // What is larger has the encoding `none` and no content.
  if (data.type !== 'file' || !('content' in data) || data.encoding !== 'base64')
    return { source, fault: `it is not a regular file of at most ${textLimitBytes} bytes` }
  const bytes = Uint8Array.from(atob(data.content.replace(/\s/g, '')), char => char.charCodeAt(0))
  try {
    return { source, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { source, fault: 'it is not UTF-8 text' }
  }
}
