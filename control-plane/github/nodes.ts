import type { Octokit } from '@octokit/rest'
import type { Shown } from './types.ts'

/** What only GraphQL tells: when a text was last edited. Nodes that are gone are absent from the answers. */
const editQuery = `query ($ids: [ID!]!) {
  nodes(ids: $ids) { __typename ... on Issue { id lastEditedAt } ... on IssueComment { id lastEditedAt } }
}`

const shownQuery = `query ($ids: [ID!]!) {
  nodes(ids: $ids) {
    __typename
    ... on Issue { id number body state lastEditedAt }
    ... on PullRequest { id number }
    ... on IssueComment { id lastEditedAt }
  }
}`

interface Node {
  __typename: string
  id?: string
  number?: number
  body?: string
  state?: string
  lastEditedAt?: string | null
}

/** When issues and comments were last edited, by node id; null = never. */
export async function readEditTimes(octokit: Octokit, ids: string[]): Promise<{ [nodeId: string]: string | null }> {
  const times: { [nodeId: string]: string | null } = {}
  for (const { id, lastEditedAt } of await nodes(octokit, editQuery, ids)) {
    if (id !== undefined && lastEditedAt !== undefined) times[id] = lastEditedAt
  }
  return times
}

/** What an issue shows, and when a comment on it was edited. */
export async function readShown(octokit: Octokit, issueId: string, commentId: string | null): Promise<Shown> {
  const found = await nodes(octokit, shownQuery, commentId === null ? [issueId] : [issueId, commentId])
  const issue = found.find(({ id }) => id === issueId)
  const comment = found.find(({ id, __typename }) => id === commentId && __typename === 'IssueComment')
  return { issue: issue === undefined ? null : readNode(issueId, issue), commentEditedAt: comment?.lastEditedAt }
}

function readNode(nodeId: string, node: Node): Shown['issue'] {
  const { __typename, number, body, state, lastEditedAt } = node
  if (number === undefined) throw new Error(`GitHub answered a ${__typename} where an issue was asked for`)
  if (__typename === 'PullRequest') {
    return { nodeId, number, body: '', state: 'open', isPullRequest: true, editedAt: null }
  }
  if (body === undefined || lastEditedAt === undefined) throw new Error('GitHub left out what the issue shows')
  return {
    nodeId,
    number,
    body,
    state: state === 'OPEN' ? 'open' : 'closed',
    isPullRequest: false,
    editedAt: lastEditedAt,
  }
}

async function nodes(octokit: Octokit, query: string, ids: string[]): Promise<Node[]> {
  if (ids.length === 0) return []
  const answer = await octokit.graphql<Answer>(query, { ids }).catch(partial)
  return answer.nodes.filter(node => node !== null)
}

interface Answer {
  nodes: (Node | null)[]
}

/** A node that is gone comes as an error beside the others' data; anything else stays an error. */
function partial(error: unknown): Answer {
  if (!(error instanceof Error) || error.name !== 'GraphqlResponseError') throw error
  const { data, errors } = error as Error & { data?: Answer | null; errors?: { type?: string }[] }
  if (!data?.nodes || !errors?.every(({ type }) => type === 'NOT_FOUND')) throw error
  return data
}
