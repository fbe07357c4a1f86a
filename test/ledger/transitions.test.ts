import { describe, expect, it } from 'vitest'
import {
  effectMoves,
  endOf,
  isAtLeast,
  isEnded,
  isTerminalTask,
  reconciledEffectMoves,
  reconciledTaskMoves,
  runMoves,
  taskMoves,
} from '../../ledger/transitions.ts'
import { effectStates, runStates, taskStates } from '../../policy/states.ts'

describe('the table of transitions', () => {
  // Written out a second time: a move that the table gains or loses must be meant.
  const moves = (table: { readonly [from: string]: readonly string[] | undefined }) =>
    Object.entries(table)
      .flatMap(([from, tos]) => (tos ?? []).map(to => `${from} > ${to}`))
      .sort()

  it('moves a run', () => {
    expect(moves(runMoves)).toEqual([
      'paused > cancelled',
      'paused > denied',
      'paused > failed',
      'paused > running',
      'running > cancelled',
      'running > denied',
      'running > failed',
      'running > paused',
      'running > succeeded',
      'running > uncertain',
      'uncertain > paused',
    ])
  })

  it('moves a task', () => {
    const ends = ['cancelled', 'denied', 'failed', 'skipped', 'succeeded', 'uncertain']
    expect(moves(taskMoves)).toEqual(
      [
        ...['running', 'waiting', ...ends].map(to => `pending > ${to}`),
        ...['pending', 'running', ...ends].map(to => `waiting > ${to}`),
        ...['pending', 'waiting', ...ends].map(to => `running > ${to}`),
      ].sort(),
    )
    expect(moves(reconciledTaskMoves)).toEqual(['succeeded > pending', 'uncertain > pending', 'uncertain > succeeded'])
  })

  it('moves an effect', () => {
    expect(moves(effectMoves)).toEqual([
      'requested > cancelled',
      'requested > denied',
      'requested > failed',
      'requested > started',
      'requested > waiting_for_approval',
      'started > cancelled',
      'started > failed',
      'started > succeeded',
      'started > uncertain',
      'waiting_for_approval > cancelled',
      'waiting_for_approval > denied',
      'waiting_for_approval > requested',
    ])
    expect(moves(reconciledEffectMoves)).toEqual(['succeeded > failed', 'uncertain > failed', 'uncertain > succeeded'])
  })

  it('names every state, and no other', () => {
    expect(Object.keys(runMoves).sort()).toEqual([...runStates].sort())
    expect(Object.keys(taskMoves).sort()).toEqual([...taskStates].sort())
    expect(Object.keys(effectMoves).sort()).toEqual([...effectStates].sort())
  })

  it.each([
    [['succeeded', 'skipped'], 'succeeded'],
    [['succeeded', 'cancelled'], 'cancelled'],
    [['cancelled', 'denied'], 'denied'],
    [['denied', 'failed'], 'failed'],
    [['failed', 'uncertain', 'cancelled'], 'uncertain'],
    [[], 'succeeded'],
  ] as const)('a run with tasks %j ends %s', (tasks, end) => {
    expect(endOf(tasks)).toBe(end)
  })

  it('lets a run end worse than its tasks, never better', () => {
    expect(isAtLeast('failed', 'succeeded')).toBe(true)
    expect(isAtLeast('failed', 'failed')).toBe(true)
    expect(isAtLeast('denied', 'failed')).toBe(false)
    expect(isAtLeast('succeeded', 'cancelled')).toBe(false)
  })

  it('knows the terminal states', () => {
    expect(taskStates.filter(state => !isTerminalTask(state))).toEqual(['pending', 'waiting', 'running'])
    expect(runStates.filter(state => !isEnded(state))).toEqual(['running', 'paused'])
  })
})
