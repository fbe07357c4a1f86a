import type { Comment, Installation, Issue, RepositoryRecord, User, WorkflowRecord } from './model.ts'
import { workflow, workflowRun } from './render/actions.ts'
import { comment as commentBody, webhookIssue } from './render/issues.ts'
import { installation as installationBody, simpleUser, webhookOrganization } from './render/people.ts'
import { repository as repositoryBody } from './render/repository.ts'
import type { RunAttempt, WorkflowRun } from './runner/state.ts'
import type { Workflow } from './runner/workflow.ts'
import { nodeId, type World } from './world.ts'

/** An event as it happened; each hook that wants it gets its own payload of it. */
export interface Event {
  /** `issue_comment`, as in x-github-event. */
  name: string
  action: string
  /** null for events of an installation. */
  repository: RepositoryRecord | null
  /** The account whose installations hear of it. */
  account: User
  body: { [key: string]: unknown }
}

const common = (world: World, repository: RepositoryRecord, sender: User) => ({
  repository: repositoryBody(world, repository),
  ...(repository.owner.type === 'Organization' && { organization: webhookOrganization(world, repository.owner) }),
  sender: simpleUser(world, sender),
})

export function commentEvent(
  world: World,
  action: 'created' | 'edited' | 'deleted',
  comment: Comment,
  sender: User,
  from?: string,
): Event {
  const { repository } = comment.issue
  return {
    name: 'issue_comment',
    action,
    repository,
    account: repository.owner,
    body: {
      action,
      ...(action === 'edited' && { changes: { body: { from: from ?? '' } } }),
      issue: webhookIssue(world, comment.issue),
      comment: commentBody(world, comment),
      ...common(world, repository, sender),
    },
  }
}

export function issueEvent(
  world: World,
  action: 'opened' | 'edited' | 'closed' | 'reopened' | 'deleted' | 'transferred',
  issue: Issue,
  sender: User,
  changes?: object,
): Event {
  return {
    name: 'issues',
    action,
    repository: issue.repository,
    account: issue.repository.owner,
    body: {
      action,
      ...(changes && { changes }),
      issue: webhookIssue(world, issue),
      ...common(world, issue.repository, sender),
    },
  }
}

export function runEvent(
  world: World,
  action: 'requested' | 'in_progress' | 'completed',
  run: WorkflowRun,
  attempt: RunAttempt,
  record: WorkflowRecord<Workflow>,
): Event {
  const { repository } = run
  return {
    name: 'workflow_run',
    action,
    repository,
    account: repository.owner,
    body: {
      action,
      workflow_run: workflowRun(world, run, attempt),
      workflow: workflow(world, repository, record),
      ...common(world, repository, attempt.triggeringActor),
    },
  }
}

export function repositoryEvent(
  world: World,
  action: 'renamed' | 'archived',
  repository: RepositoryRecord,
  sender: User,
  changes?: object,
): Event {
  return {
    name: 'repository',
    action,
    repository,
    account: repository.owner,
    body: { action, ...(changes && { changes }), ...common(world, repository, sender) },
  }
}

const shortRepository = (repository: RepositoryRecord) => ({
  id: repository.id,
  node_id: nodeId('R', repository.id),
  name: repository.name,
  full_name: `${repository.owner.login}/${repository.name}`,
  private: repository.private,
})

export function installationEvent(
  world: World,
  action: 'created' | 'deleted' | 'suspend' | 'unsuspend',
  installation: Installation,
  repositories: RepositoryRecord[],
  sender: User,
): Event {
  return {
    name: 'installation',
    action,
    repository: null,
    account: installation.account,
    body: {
      action,
      installation: installationBody(world, installation),
      repositories: repositories.map(shortRepository),
      requester: null,
      sender: simpleUser(world, sender),
    },
  }
}

export function installationRepositoriesEvent(
  world: World,
  action: 'added' | 'removed',
  installation: Installation,
  repositories: RepositoryRecord[],
  sender: User,
): Event {
  return {
    name: 'installation_repositories',
    action,
    repository: null,
    account: installation.account,
    body: {
      action,
      installation: installationBody(world, installation),
      repository_selection: installation.repositories === 'all' ? 'all' : 'selected',
      repositories_added: action === 'added' ? repositories.map(shortRepository) : [],
      repositories_removed: action === 'removed' ? repositories.map(shortRepository) : [],
      requester: null,
      sender: simpleUser(world, sender),
    },
  }
}
