import { z } from 'zod'
import { markerOf } from '../../policy/approval/index.ts'

/**
 * The events that count and what of them is kept: an inbox row holds what the work needs and no more. Unknown keys are
 * dropped, so that a new field at GitHub changes nothing here.
 */
const inlineCharacters = 8192

const account = z.object({ id: z.int(), login: z.string(), type: z.string() })
const repository = z
  .object({ id: z.int(), name: z.string(), owner: z.object({ login: z.string() }) })
  .transform(({ id, name, owner }) => ({ id, owner: owner.login, name }))
const base = { action: z.string(), repository, sender: account }

const issue = z
  .object({
    id: z.int(),
    node_id: z.string(),
    number: z.int(),
    state: z.string(),
    user: account.nullable(),
    body: z.string().nullish(),
    pull_request: z.unknown().optional(),
  })
  .transform(({ pull_request, node_id, body, ...rest }) => ({
    ...rest,
    nodeId: node_id,
    isPullRequest: pull_request !== undefined && pull_request !== null,
    marker: markerOf('pause', body ?? ''),
  }))

const comment = z
  .object({
    id: z.int(),
    node_id: z.string(),
    body: z.string(),
    user: account.nullable(),
    created_at: z.string(),
    performed_via_github_app: z.unknown().optional(),
  })
  .transform(({ node_id, created_at, performed_via_github_app, body, ...rest }) => ({
    ...rest,
    // An inbox row holds 64 KiB of JSON; the work reads a longer comment from GitHub and takes it only if never edited.
    body: body.length > inlineCharacters ? null : body,
    nodeId: node_id,
    createdAt: created_at,
    viaApp: performed_via_github_app !== undefined && performed_via_github_app !== null,
  }))

const workflowRun = z
  .object({ id: z.int(), run_attempt: z.int(), status: z.string().nullable(), conclusion: z.string().nullable() })
  .transform(({ run_attempt, ...rest }) => ({ ...rest, attempt: run_attempt }))

const named = z.object({ id: z.int(), full_name: z.string() })

/** One schema per event; each gives what its work needs. */
export const eventSchemas = {
  issue_comment: z.object({ ...base, issue, comment }),
  issues: z.object({ ...base, issue }),
  workflow_run: z.object({ ...base, workflow_run: workflowRun }),
  repository: z.object(base),
  installation: z.object({ action: z.string(), repositories: z.array(named).optional() }),
  installation_repositories: z.object({ action: z.string(), repositories_added: z.array(named) }),
}
export type EventName = keyof typeof eventSchemas
export type EventPayload<Name extends EventName> = z.output<(typeof eventSchemas)[Name]>

/** Actions of an event that lead to work; others are taken note of and dropped. */
export const countedActions: { [Name in EventName]: readonly string[] } = {
  issue_comment: ['created', 'edited', 'deleted'],
  issues: ['opened', 'edited', 'closed', 'reopened', 'deleted', 'transferred'],
  workflow_run: ['completed'],
  repository: ['renamed', 'transferred', 'archived', 'unarchived'],
  installation: ['created', 'new_permissions_accepted', 'unsuspend'],
  installation_repositories: ['added'],
}
