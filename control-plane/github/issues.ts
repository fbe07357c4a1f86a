import type { Caller } from './caller.ts'
import { readEditTimes, readShown } from './nodes.ts'
import { readComment, readIssue } from './read.ts'
import type { GitHubRepository, IssueComment } from './types.ts'

type Issues = Pick<
  GitHubRepository,
  | 'issue'
  | 'issuesSince'
  | 'createIssue'
  | 'closeIssue'
  | 'reopenIssue'
  | 'closedByCommit'
  | 'comment'
  | 'commentsSince'
  | 'issueComments'
  | 'createComment'
  | 'updateComment'
  | 'react'
  | 'shown'
  | 'lastEditedAt'
>

const perPage = 100
const commentPages = 10
const issuePages = 3

/** Issues, their comments and reactions. */
export function issues(call: Caller, at: { owner: string; repo: string }): Issues {
  const setState = (what: string, issue_number: number, state: object) =>
    call({ what, write: true }, async octokit =>
      readIssue((await octokit.rest.issues.update({ ...at, issue_number, ...state })).data),
    )
  return {
    issue: issue_number =>
      call({ what: `reading issue #${issue_number}` }, async octokit =>
        readIssue((await octokit.rest.issues.get({ ...at, issue_number })).data),
      ),
    issuesSince: since =>
      call({ what: 'listing issues' }, async octokit => {
        const query = { ...at, state: 'all', since, sort: 'created', direction: 'desc', per_page: perPage } as const
        const found = await pages(issuePages, page => octokit.rest.issues.listForRepo({ ...query, page }))
        return found.map(readIssue).filter(issue => !issue.isPullRequest)
      }),
    createIssue: issue =>
      call({ what: 'opening an issue', write: true }, async octokit =>
        readIssue((await octokit.rest.issues.create({ ...at, ...issue })).data),
      ),
    closeIssue: (number, reason) =>
      setState(`closing issue #${number}`, number, { state: 'closed', state_reason: reason }),
    reopenIssue: number => setState(`reopening issue #${number}`, number, { state: 'open' }),
    closedByCommit: issue_number =>
      call({ what: `reading who closed issue #${issue_number}` }, async octokit => {
        const query = { ...at, issue_number, per_page: perPage }
        const events = await pages(issuePages, page => octokit.rest.issues.listEvents({ ...query, page }))
        const last = events.findLast(event => event.event === 'closed')
        if (last === undefined) throw new Error('GitHub shows no closing of the issue')
        return last.commit_id !== null
      }),
    comment: comment_id =>
      call({ what: `reading comment ${comment_id}` }, async octokit =>
        readComment((await octokit.rest.issues.getComment({ ...at, comment_id })).data),
      ),
    commentsSince: since =>
      call({ what: 'listing comments' }, async octokit => {
        const query = { ...at, since, sort: 'updated', direction: 'asc', per_page: perPage } as const
        return inOrder(await pages(commentPages, page => octokit.rest.issues.listCommentsForRepo({ ...query, page })))
      }),
    issueComments: (issue_number, since) =>
      call({ what: `listing comments of issue #${issue_number}` }, async octokit => {
        const query = { ...at, issue_number, since, per_page: perPage }
        return inOrder(await pages(commentPages, page => octokit.rest.issues.listComments({ ...query, page })))
      }),
    createComment: (issue_number, body) =>
      call({ what: `commenting on issue #${issue_number}`, write: true }, async octokit =>
        readComment((await octokit.rest.issues.createComment({ ...at, issue_number, body })).data),
      ),
    updateComment: (comment_id, body) =>
      call({ what: `updating comment ${comment_id}`, write: true }, async octokit =>
        readComment((await octokit.rest.issues.updateComment({ ...at, comment_id, body })).data),
      ),
    react: (comment_id, content) =>
      call({ what: `reacting to comment ${comment_id}`, write: true }, async octokit => {
        await octokit.rest.reactions.createForIssueComment({ ...at, comment_id, content })
        return null
      }),
    shown: (issue, comment) =>
      call({ what: 'reading what the issue shows' }, octokit => readShown(octokit, issue, comment)),
    lastEditedAt: ids => call({ what: 'reading when texts were edited' }, octokit => readEditTimes(octokit, ids)),
  }
}

/** GitHub's lists may come out of order and may repeat an entry when something is added between two pages. */
function inOrder(comments: Parameters<typeof readComment>[0][]): IssueComment[] {
  const byId = new Map(comments.map(comment => [comment.id, readComment(comment)]))
  return [...byId.values()].sort((left, right) => left.id - right.id)
}

/** Pages of a list until one is short, at most `most`. */
export async function pages<Item>(most: number, get: (page: number) => Promise<{ data: Item[] }>): Promise<Item[]> {
  const items: Item[] = []
  for (let page = 1; page <= most; page++) {
    const { data } = await get(page)
    items.push(...data)
    if (data.length < perPage) break
  }
  return items
}
