import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  approvalSettings,
  bindingSettings,
  floorSettings,
  parseDuration,
  parseFloor,
  stricterSettings,
} from '../../policy/decision/index.ts'
import { floors } from './arbitraries.ts'

function floor(spec: object) {
  const result = parseFloor(spec as never)
  if (!result.ok) throw new Error(result.message)
  return result.floor
}

describe('settings of a pause', () => {
  it('are tightened by the inputs', () => {
    const result = approvalSettings(
      floor({ approvers: { users: ['alice', 'bob'], teams: ['org/a'] }, expiresAfter: '14d' }),
      {
        users: ['@Alice', 'alice', 'mallory'],
        minimumApprovals: 2,
        preventSelfApproval: false,
        expiresAfterSeconds: 3600,
        issueDetail: 'summary',
      },
    )
    expect(result).toMatchObject({
      ok: true,
      settings: {
        users: [{ login: 'alice', id: null }],
        teams: [],
        minimumApprovals: 2,
        preventSelfApproval: true,
        expiresAfterSeconds: 3600,
        issueDetail: 'summary',
      },
    })
  })

  it('cannot be loosened by the inputs', () => {
    const result = approvalSettings(floor({ minimumApprovals: 3, expiresAfter: '1d' }), {
      minimumApprovals: 1,
      preventSelfApproval: false,
      expiresAfterSeconds: 29 * 86_400,
    })
    expect(result).toMatchObject({
      ok: true,
      settings: { minimumApprovals: 3, preventSelfApproval: true, expiresAfterSeconds: 86_400 },
    })
  })

  it('last seven days where nobody says how long, however far the floor reaches', () => {
    expect(approvalSettings(null, {})).toMatchObject({ settings: { expiresAfterSeconds: 7 * 86_400 } })
    expect(approvalSettings(floor({ expiresAfter: '20d' }), {})).toMatchObject({
      settings: { expiresAfterSeconds: 7 * 86_400 },
    })
    expect(approvalSettings(floor({ expiresAfter: '20d' }), { expiresAfterSeconds: 25 * 86_400 })).toMatchObject({
      settings: { expiresAfterSeconds: 20 * 86_400 },
    })
  })

  it.each([
    ['nobody in common', { approvers: { users: ['alice'] } }, { users: ['bob'] }, 'approvers'],
    ['a floor that lists nobody', { approvers: { users: [] } }, {}, 'approvers'],
    ['no approval at all', {}, { minimumApprovals: 0 }, 'minimum-approvals'],
    ['a part of an approval', {}, { minimumApprovals: 1.5 }, 'minimum-approvals'],
    ['thirty days', {}, { expiresAfterSeconds: 30 * 86_400 }, 'approval-expires'],
    ['no time', {}, { expiresAfterSeconds: 0 }, 'approval-expires'],
    ['no number', {}, { expiresAfterSeconds: Number.NaN }, 'approval-expires'],
  ])('are refused with %s', (_, spec, inputs, named) => {
    expect(approvalSettings(floor(spec), inputs)).toMatchObject({ ok: false, message: expect.stringContaining(named) })
  })

  it('take the stricter of then and now', () => {
    const then = approvalSettings(floor({ approvers: { users: ['alice', 'bob'] } }), {})
    if (!then.ok) throw new Error(then.message)
    const now = floor({
      approvers: { users: [{ login: 'Alice', id: 4 }], permission: 'admin' },
      minimumApprovals: 2,
      plainWords: false,
    })
    expect(bindingSettings(then.settings, now)).toMatchObject({
      users: [{ login: 'alice', id: 4 }],
      permission: 'admin',
      minimumApprovals: 2,
      plainWords: false,
    })
    expect(bindingSettings(then.settings, null)).toEqual(then.settings)
    expect(bindingSettings(then.settings, floor({ approvers: { teams: ['org/x'] } }))).toMatchObject({
      users: [],
      teams: [],
    })
  })

  it('meet whichever side comes first', () => {
    fc.assert(
      fc.property(floors, floors, (a, b) => {
        const [left, right] = [floorSettings(a), floorSettings(b)]
        const met = stricterSettings(left, right)
        expect(stricterSettings(right, left)).toEqual(met)
        expect(stricterSettings(met, left)).toEqual(met)
      }),
    )
  })
})

it.each([
  ['7d', 604_800],
  ['12h', 43_200],
  ['30m', 1800],
  ['0d', 0],
  ['d', null],
  ['', null],
  ['7', null],
  ['-1d', null],
  ['1.5h', null],
  ['7D', null],
  ['9999999999d', null],
  ['constructor', null],
])('reads %j as %s seconds', (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds)
})
