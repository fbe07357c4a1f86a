import {
  type Account,
  type ApprovalRecord,
  type DecisionFacts,
  defaultApprovalSettings,
  type ExpectedEffect,
  type PauseView,
  type Resolution,
  type RunView,
  renderIssue,
} from '../../policy/approval/index.ts'
import { sha256 } from '../../policy/canonical.ts'

export const alice: Account = { id: 1, login: 'Alice', type: 'User' }
export const mallory: Account = { id: 66, login: 'mallory', type: 'User' }

export const write: Extract<ExpectedEffect, { kind: 'write' }> = {
  kind: 'write',
  path: 'out/release-notes.md',
  diff: '--- a\n+++ b\n@@ -0,0 +1 @@\n+hello\n',
  beforeSha256: null,
  afterSha256: sha256('hello'),
  bytes: 5,
}

export const process: Extract<ExpectedEffect, { kind: 'process' }> = {
  kind: 'process',
  command: 'npm',
  realPath: '/usr/bin/npm-secret-path',
  executableSha256: sha256('npm'),
  args: ['publish', '--tag-argument'],
  cwd: 'packages/inner-dir',
  environment: ['NPM_TOKEN'],
  argvFiles: { 'scripts/run-me.sh': sha256('x') },
  limits: { timeoutSeconds: 60 },
}

export function item(number: number, change: Partial<ApprovalRecord> = {}): ApprovalRecord {
  return {
    id: sha256(`approval ${number}`),
    run: 'run-1',
    pause: 'pause-1',
    number,
    trace: `run-1/task-${number}/1/0`,
    task: `task-${number}`,
    agent: null,
    tool: 'filesystem.write',
    capability: 'filesystem.write',
    effect: sha256(`effect ${number}`),
    effectClass: 'workspace_mutate',
    risk: 'medium',
    isolation: 'process',
    input: { path: 'out/release-notes.md', content: 'hello' },
    inputDigest: sha256(`input ${number}`),
    bindingDigest: sha256(`binding ${number}`),
    expectedEffect: write,
    reason: 'approval `mutations` (default) asks a person before builtin.write',
    decisionTrace: [],
    planDigest: sha256('plan'),
    commit: { sha: 'c'.repeat(40), head: 'c'.repeat(40) },
    requestedAt: '2026-03-01T10:00:00.000Z',
    expiresAt: '2026-03-08T10:00:00.000Z',
    needed: 1,
    resolution: null,
    ...change,
  }
}

export function resolved(outcome: Resolution['outcome']): Resolution {
  return { outcome, by: [{ id: 9, login: 'niner' }], reason: 'because', at: '2026-03-02T10:00:00.000Z', via: 'comment' }
}

export function pause(items: ApprovalRecord[] = [item(1)], change: Partial<PauseView> = {}): PauseView {
  return {
    pause: 'pause-1',
    run: 'run-1',
    state: 'open',
    items,
    later: [],
    createdAt: '2026-03-01T10:00:00.000Z',
    expiresAt: '2026-03-08T10:00:00.000Z',
    issue: { number: 12, id: 1200, url: 'https://github.example/o/r/issues/12', bodyDigest: sha256('body') },
    shortDigest: '0123456789ab',
    ...change,
  }
}

export const run: RunView = {
  run: 'run-1',
  workflowName: 'release',
  document: '.agentctl/release.yaml',
  planDigest: sha256('plan'),
  commit: { sha: 'c'.repeat(40), head: 'c'.repeat(40) },
  settings: defaultApprovalSettings,
  requesters: [{ id: 50, login: 'pusher', role: 'actor' }],
  instance: {
    job: 'release',
    attempt: 1,
    workflowRunId: 77,
    ref: 'refs/heads/main',
    event: 'push',
    isPublic: true,
    pullRequest: null,
  },
}

export function rendered(items?: ApprovalRecord[], change: Partial<PauseView> = {}, runChange: Partial<RunView> = {}) {
  return renderIssue({
    run: { ...run, ...runChange },
    pause: pause(items, change),
    pageUrl: 'https://agentctl.example/o/r/pauses/pause-1',
    runUrl: 'https://github.example/o/r/actions/runs/77',
  })
}

/** A comment that counts; each test changes one fact. */
export function facts(change: Partial<DecisionFacts> = {}): DecisionFacts {
  const author = change.author ?? alice
  return {
    event: 'created',
    comment: { id: 500, body: '/approve', lastEditedAt: undefined },
    commentSeen: false,
    sender: author,
    author,
    person: author,
    performedViaApp: false,
    ownAccountId: 900,
    issue: { number: 12, state: 'open', isPullRequest: false, bodyDigest: sha256('body'), everEdited: false },
    pause: pause(),
    isCurrentPause: true,
    newerPlanDigest: null,
    now: '2026-03-02T10:00:00.000Z',
    permission: { ok: true, permission: 'write', role: 'write' },
    memberships: {},
    settings: defaultApprovalSettings,
    boundIds: {},
    requesters: [{ id: 50, login: 'pusher', role: 'actor' }],
    votes: [],
    pageUrl: 'https://agentctl.example/o/r/pauses/pause-1',
    ...change,
  }
}

export function says(body: string) {
  return { id: 500, body, lastEditedAt: undefined }
}
