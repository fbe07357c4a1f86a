import type { LeaseCommand } from '../../ledger/commands.ts'
import { bindingDigest, effectId } from '../../policy/binding.ts'
import { digest } from '../../policy/canonical.ts'
import type { Idempotency } from '../../policy/effect.ts'

/** Commands of a run with one task, as a runner would send them. */
export const task = 'write'
const input = { path: 'out/a.txt', content: 'a' }
const binding = { replaced_file: null }

export const id = (): string => crypto.randomUUID()

export function create(
  change: { failure?: 'stop' | 'continue'; resumeWith?: 'rerun' | 'workflow_dispatch' } = {},
): LeaseCommand {
  return {
    id: id(),
    type: 'run.create',
    workflowName: 'release',
    document: '.agentctl/release.yaml',
    workflowDigest: digest('document'),
    planDigest: digest('plan'),
    floorDigest: null,
    plan: { inline: { formatVersion: 1, name: 'release' } },
    commit: { sha: 'a'.repeat(40), head: 'a'.repeat(40) },
    parent: null,
    tasks: [{ id: task, needs: [], failure: change.failure ?? 'stop' }],
    memory: {},
    settings: {
      minimumApprovals: 1,
      users: null,
      teams: null,
      permission: 'write',
      preventSelfApproval: false,
      expiresAfterSeconds: 3600,
      plainWords: true,
      notify: [],
      labels: ['agentctl'],
      issueDetail: 'full',
      onSuperseded: 'warn',
    },
    resumeWith: change.resumeWith ?? 'rerun',
  }
}

/** The effect of the one task in this run. */
export const effectOf = (run: string): string =>
  effectId({ run, task, attempt: 1, ordinal: 0, operation: 'builtin.write', inputDigest: digest(input) })

export function request(
  run: string,
  outcome: 'allow' | 'ask' | 'deny',
  idempotency: Idempotency = 'at_most_once',
): LeaseCommand {
  return {
    id: id(),
    type: 'effect.request',
    effect: effectOf(run),
    task,
    attempt: 1,
    ordinal: 0,
    agent: null,
    operation: 'builtin.write',
    tool: 'filesystem.write',
    capability: 'filesystem.write',
    effectClass: 'workspace_mutate',
    risk: 'medium',
    idempotency,
    isolation: 'process',
    input: { inline: input },
    inputDigest: digest(input),
    binding,
    bindingDigest: bindingDigest(binding),
    decision: { outcome, reason: 'approval: mutations', steps: [] },
    changed: [],
  }
}

export const move = (
  to: 'running' | 'waiting' | 'succeeded' | 'failed' | 'denied' | 'uncertain' | 'cancelled',
): LeaseCommand => ({
  id: id(),
  type: 'task.move',
  task,
  attempt: 1,
  to,
  output: to === 'succeeded' ? { inline: { path: 'out/a.txt' } } : null,
  error: ['failed', 'denied', 'uncertain', 'cancelled'].includes(to) ? { code: 'test', message: to } : null,
  condition: null,
  memory: null,
})

export const startEffect = (run: string): LeaseCommand => ({
  id: id(),
  type: 'effect.start',
  effect: effectOf(run),
  bindingDigest: bindingDigest(binding),
})

export const finishEffect = (run: string, to: 'succeeded' | 'failed' | 'uncertain'): LeaseCommand => ({
  id: id(),
  type: 'effect.finish',
  effect: effectOf(run),
  to,
  result: to === 'succeeded' ? { inline: { path: 'out/a.txt' } } : null,
  error: to === 'succeeded' ? null : { code: 'test', message: to },
  artifacts: [],
})

export const pauseRun = (run: string, pause: string, expiresAt: string): LeaseCommand => ({
  id: id(),
  type: 'run.pause',
  pause,
  items: [
    {
      effect: effectOf(run),
      bindingDigest: bindingDigest(binding),
      reason: 'approval: mutations',
      expected: {
        inline: {
          kind: 'write',
          path: 'out/a.txt',
          diff: '+a',
          beforeSha256: null,
          afterSha256: digest('a'),
          bytes: 1,
        },
      },
    },
  ],
  later: [],
  expiresAt,
})

export const finishRun = (to: 'succeeded' | 'failed' | 'denied' | 'uncertain' | 'cancelled'): LeaseCommand => ({
  id: id(),
  type: 'run.finish',
  to,
  outputs: to === 'succeeded' ? { inline: { written: 'out/a.txt' } } : null,
})
