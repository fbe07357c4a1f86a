import { describe, expect, it } from 'vitest'
import { chooseRedispatch, type RedispatchFacts, type RedispatchJob } from '../../policy/approval/index.ts'

const job = (id: number, conclusion: string | null, isResolvedPause = false): RedispatchJob => ({
  id,
  name: `job ${id}`,
  status: conclusion === null ? 'in_progress' : 'completed',
  conclusion,
  isResolvedPause,
})
const sha = 'c'.repeat(40)
const facts = (change: Partial<RedispatchFacts> = {}): RedispatchFacts => ({
  resumeWith: 'rerun',
  now: '2026-03-02T10:00:00Z',
  workflowRun: { id: 77, attempt: 1, status: 'completed', createdAt: '2026-03-01T10:00:00Z' },
  workflowState: 'active',
  jobs: [job(1, 'success'), job(2, 'failure', true)],
  jobId: 2,
  ref: { name: 'main', sha },
  sha,
  dispatchInputDeclared: false,
  newerRun: null,
  onSuperseded: 'warn',
  rerunRefused: null,
  ...change,
})
const run = (change: object) => ({ workflowRun: { ...facts().workflowRun, ...change } })
const newer = { id: 78, url: 'https://github.example/o/r/actions/runs/78' }

describe('the choice of re-dispatch', () => {
  it.each<[string, Partial<RedispatchFacts>, object]>([
    ['the paused job alone', {}, { kind: 'rerun_job', jobId: 2 }],
    ['by default', { resumeWith: 'auto' }, { kind: 'rerun_job', jobId: 2 }],
    [
      'all failed jobs at once, where each is a resolved pause of ours',
      { jobs: [job(1, 'failure', true), job(2, 'failure', true), job(3, 'success')] },
      { kind: 'rerun_failed_jobs', workflowRunId: 77 },
    ],
    [
      'the paused job alone, beside a pause that is still open',
      { jobs: [job(1, 'failure', false), job(2, 'failure', true)] },
      { kind: 'rerun_job', jobId: 2 },
    ],
    [
      'the paused job alone, beside a cancelled job of others',
      { jobs: [job(1, 'cancelled'), job(2, 'failure', true)] },
      { kind: 'rerun_job', jobId: 2 },
    ],
    [
      'the paused job that was green (on-pause: succeed)',
      { jobs: [job(1, 'failure', true), job(3, 'failure', true), job(2, 'success', true)] },
      { kind: 'rerun_job', jobId: 2 },
    ],
    [
      'to wait for the job that holds the run',
      { ...run({ status: 'in_progress' }), jobs: [job(1, null), job(2, 'failure', true)] },
      { kind: 'wait', job: 'job 1' },
    ],
    ['to wait for a queued run', { ...run({ status: 'queued' }), jobs: [] }, { kind: 'wait', job: 'run 77' }],
    [
      'a dispatch that was asked for',
      { resumeWith: 'workflow_dispatch', dispatchInputDeclared: true },
      { kind: 'workflow_dispatch', ref: 'main' },
    ],
    [
      'a dispatch after 30 days',
      { ...run({ createdAt: '2026-01-30T10:00:00Z' }), dispatchInputDeclared: true },
      { kind: 'workflow_dispatch', warning: expect.stringContaining('30 days') },
    ],
    [
      'a dispatch after 50 attempts',
      { ...run({ attempt: 50 }), dispatchInputDeclared: true },
      { kind: 'workflow_dispatch', warning: expect.stringContaining('50') },
    ],
    [
      'a dispatch where a re-run is refused',
      { rerunRefused: 'cannot be retried', dispatchInputDeclared: true },
      { kind: 'workflow_dispatch', warning: expect.stringContaining('cannot be retried') },
    ],
    [
      'a warning about a newer run',
      { newerRun: newer },
      { kind: 'rerun_job', warning: expect.stringContaining(newer.url) },
    ],
    ['the last minute of 30 days', run({ createdAt: '2026-01-31T10:00:01Z' }), { kind: 'rerun_job' }],
  ])('is %s', (_, change, expected) => {
    expect(chooseRedispatch(facts(change))).toMatchObject(expected)
  })

  it.each<[string, Partial<RedispatchFacts>, string]>([
    ['a newer run exists and the floor refuses', { newerRun: newer, onSuperseded: 'refuse' }, 'superseded'],
    ['the workflow is disabled', { workflowState: 'disabled_manually' }, 'workflow_disabled'],
    ['the state of the workflow is not known', { workflowState: '' }, 'workflow_disabled'],
    ['the run is 30 days old', run({ createdAt: '2026-01-30T10:00:00Z' }), 'too_old'],
    ['the age of the run is not known', run({ createdAt: '' }), 'too_old'],
    ['there were 50 attempts', run({ attempt: 50 }), 'too_many_attempts'],
    ['GitHub refuses for good', { rerunRefused: 'logs are gone' }, 'rerun_refused'],
    ['the job is not there', { jobId: null }, 'job_not_found'],
    [
      'a dispatch is asked for and the branch has moved',
      { resumeWith: 'workflow_dispatch', dispatchInputDeclared: true, ref: { name: 'main', sha: 'd'.repeat(40) } },
      'ref_moved',
    ],
    [
      'a dispatch is asked for and the branch is gone',
      { resumeWith: 'workflow_dispatch', dispatchInputDeclared: true, ref: { name: 'main', sha: null } },
      'ref_moved',
    ],
    [
      'a dispatch is asked for and no branch is recorded',
      { resumeWith: 'workflow_dispatch', dispatchInputDeclared: true, ref: null },
      'ref_moved',
    ],
    ['a dispatch is asked for and the input is not declared', { resumeWith: 'workflow_dispatch' }, 'input_missing'],
  ])('is nothing, with what to do by hand, where %s', (_, change, code) => {
    const choice = chooseRedispatch(facts(change))
    expect(choice).toMatchObject({ kind: 'nothing', code })
    if (choice.kind !== 'nothing') return
    expect(choice.reason).not.toBe('')
    expect(choice.remedy).not.toBe('')
  })
})
