import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ActionError } from '../../action/failure.ts'
import { readText, withinCheckout } from '../../action/files.ts'
import { checkRepository, effectiveFloor, readHostFloor, readInputFloor, tightened } from '../../action/floor.ts'
import type { Job } from '../../action/job.ts'
import type { Floor } from '../../policy/decision/index.ts'
import type { Plan } from '../../policy/document/plan.ts'

const folder = mkdtempSync(join(tmpdir(), 'agentctl-floor-'))
afterAll(() => rmSync(folder, { recursive: true }))
const isRoot = process.getuid?.() === 0

const floorText = (spec: string) =>
  `apiVersion: agentctl.dev/v1\nkind: SecurityFloor\nmetadata: { name: test }\nspec: ${spec}\n`

let files = 0
function file(text: string, mode = 0o644, uid?: number): string {
  const path = join(folder, `file-${files++}.yaml`)
  writeFileSync(path, text)
  chmodSync(path, mode)
  if (uid !== undefined) chownSync(path, uid, uid)
  return path
}

function refusal(action: () => unknown): ActionError {
  try {
    action()
  } catch (error) {
    if (error instanceof ActionError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

const floorOf = (spec: string): Floor => {
  const floor = readInputFloor(folder, file(floorText(spec)).slice(folder.length + 1))
  if (floor === null) throw new Error('no floor')
  return floor
}

describe('the host floor', () => {
  test('in a job container it is not readable, and not looked for', () => {
    expect(readHostFloor(true, join(folder, 'missing'))).toEqual({ state: 'not readable' })
  })

  test('absent is none', () => {
    expect(readHostFloor(false, join(folder, 'missing'))).toEqual({ state: 'none' })
    expect(readHostFloor(false, join(file('x'), 'below-a-file'))).toEqual({ state: 'none' })
  })

  // Only root can own a file as root: elsewhere the same file must be refused for its owner.
  test('a file of root is read', () => {
    const path = file(floorText('{ minimumApprovals: 2 }'))
    if (isRoot) expect(readHostFloor(false, path)).toMatchObject({ state: 'installed', floor: { minimumApprovals: 2 } })
    else expect(refusal(() => readHostFloor(false, path)).message).toContain('not to root')
  })

  test('a file that others than root own or may write is refused, never ignored', () => {
    const owned = isRoot ? file(floorText('{}'), 0o644, 12_345) : file(floorText('{}'))
    expect(refusal(() => readHostFloor(false, owned))).toMatchObject({ code: 'untrusted_host_floor', exitCode: 2 })
    for (const mode of [0o664, 0o646, 0o666, 0o777])
      expect(refusal(() => readHostFloor(false, file(floorText('{}'), mode)))).toMatchObject({
        code: 'untrusted_host_floor',
      })
  })

  test('a link and a directory are refused', () => {
    const link = join(folder, 'link.yaml')
    symlinkSync(file(floorText('{}')), link)
    expect(refusal(() => readHostFloor(false, link))).toMatchObject({ code: 'untrusted_host_floor' })
    expect(refusal(() => readHostFloor(false, folder))).toMatchObject({ code: 'untrusted_host_floor' })
  })
})

describe('the input floor', () => {
  test('is optional', () => {
    expect(readInputFloor(folder, null)).toBeNull()
  })

  test.each([
    ['unknown fields', floorText('{ minimumAprovals: 2 }')],
    ['another kind', 'apiVersion: agentctl.dev/v1\nkind: Workflow\nmetadata: { name: x }\nspec: {}\n'],
    ['no YAML', 'a: [b'],
  ])('%s: a floor that cannot be understood is never no floor', (_, text) => {
    const path = file(text).slice(folder.length + 1)
    expect(refusal(() => readInputFloor(folder, path))).toMatchObject({ code: 'invalid_floor', exitCode: 2 })
  })

  test('a missing one is refused', () => {
    expect(refusal(() => readInputFloor(folder, 'missing.yaml'))).toMatchObject({ code: 'unreadable_file' })
  })
})

describe('all floors together', () => {
  const none = { state: 'none' } as const

  test('none is null', () => {
    expect(effectiveFloor(null, null, none)).toBeNull()
  })

  test('the strictest word of each holds', () => {
    const input = floorOf('{ minimumApprovals: 2, searchPath: [/opt/a, /opt/b] }')
    const host = { state: 'installed', floor: floorOf('{ minimumApprovals: 3, preventSelfApproval: false }') } as const
    const repository = JSON.parse(JSON.stringify(floorOf('{ minimumApprovals: 1, requireHostFloor: true }')))
    expect(effectiveFloor(repository, input, host)).toMatchObject({ minimumApprovals: 3, preventSelfApproval: true })
  })

  test('an unreadable repository floor is refused', () => {
    expect(refusal(() => effectiveFloor({ minimumApprovals: 'x' }, null, none))).toMatchObject({
      code: 'invalid_floor',
    })
  })

  test.each([none, { state: 'not readable' } as const])('a required host floor that is %o refuses the run', host => {
    const error = refusal(() => effectiveFloor({ requireHostFloor: true }, null, host))
    expect(error).toMatchObject({ code: 'host_floor_required', exitCode: 3 })
    expect(error.message).toContain(host.state)
  })
})

describe('settings tightened by floors that only the job sees', () => {
  test('without one the step asks what it asks', () => {
    expect(tightened({ users: ['alice'] }, null)).toEqual({ users: ['alice'] })
  })

  test('approvals, approvers and expiry become the stricter', () => {
    const floor = floorOf('{ minimumApprovals: 2, approvers: { users: [alice, bob] }, expiresAfter: 1h }')
    expect(tightened({ users: ['bob', 'carol'], minimumApprovals: 1, labels: ['x'] }, floor)).toEqual({
      users: ['bob'],
      teams: [],
      minimumApprovals: 2,
      preventSelfApproval: true,
      expiresAfterSeconds: 3_600,
      labels: ['x'],
    })
  })

  test('nobody left is refused', () => {
    const floor = floorOf('{ approvers: { users: [alice] } }')
    expect(refusal(() => tightened({ users: ['bob'] }, floor))).toMatchObject({ code: 'invalid_input', exitCode: 2 })
  })

  test.each(['{ approvers: { permission: admin } }', '{ plainWords: false }', '{ onSuperseded: refuse }'])(
    '%s cannot be carried and is refused rather than dropped',
    spec => {
      expect(refusal(() => tightened({}, floorOf(spec)))).toMatchObject({ code: 'invalid_floor' })
    },
  )
})

describe('repository and workflow', () => {
  const job = {
    owner: 'Org',
    repo: 'prod-api',
    workflowRef: 'Org/prod-api/.github/workflows/r.yml@refs/heads/main',
  } as Job
  const planned = (...isolations: string[]) =>
    ({ processes: isolations.map((isolation, index) => ({ action: `a${index}`, isolation })) }) as unknown as Plan

  test.each([
    ['{ protectedRepositories: ["org/prod-*"] }', ['process'], 'protected_repository'],
    ['{ protectedRepositories: ["org/prod-*"] }', ['cell', 'container'], 'protected_repository'],
    ['{ protectedRepositories: ["org/prod-*"] }', ['cell'], null],
    ['{ protectedRepositories: ["org/other"] }', ['process'], null],
    ['{ allowedWorkflowRefs: ["Org/prod-api/.github/workflows/*.yml@refs/heads/main"] }', [], null],
    [
      '{ allowedWorkflowRefs: ["Org/prod-api/.github/workflows/r.yml@refs/heads/release"] }',
      [],
      'workflow_ref_not_allowed',
    ],
    ['{ allowedWorkflowRefs: [] }', [], 'workflow_ref_not_allowed'],
    ['{}', ['process'], null],
  ])('%s with %o', (spec, isolations, code) => {
    const check = () => checkRepository(floorOf(spec), planned(...isolations), job)
    if (code === null) expect(check).not.toThrow()
    else expect(refusal(check)).toMatchObject({ code, exitCode: 3 })
  })
})

describe('files of the checkout', () => {
  mkdirSync(join(folder, 'wörk space'))
  writeFileSync(join(folder, 'wörk space', 'a.yaml'), 'a: 1')
  writeFileSync(join(folder, 'latin1.yaml'), Buffer.from([0x61, 0xe4]))
  writeFileSync(join(folder, 'large.yaml'), Buffer.alloc(1_048_577, 'x'))
  const outside = mkdtempSync(join(tmpdir(), 'agentctl-outside-'))
  writeFileSync(join(outside, 'secret.yaml'), 'secret')
  symlinkSync(join(outside, 'secret.yaml'), join(folder, 'escape.yaml'))
  symlinkSync('nowhere', join(folder, 'dangling.yaml'))
  afterAll(() => rmSync(outside, { recursive: true }))

  test('spaces and letters of any script', () => {
    expect(readText(withinCheckout(folder, 'wörk space/a.yaml', 'workflow'), 'x')).toBe('a: 1')
  })

  test.each([
    ['escape.yaml', 'outside_checkout'],
    ['dangling.yaml', 'unreadable_file'],
    ['missing.yaml', 'unreadable_file'],
    [join(outside, 'secret.yaml'), 'outside_checkout'],
  ])('%s: %s', (path, code) => {
    const error = refusal(() => withinCheckout(folder, path, 'workflow'))
    expect(error).toMatchObject({ code, exitCode: 2 })
    expect(error.message).toContain('workflow')
  })

  test.each(['latin1.yaml', 'large.yaml', 'wörk space'])('%s is not read', name => {
    expect(refusal(() => readText(join(folder, name), name))).toMatchObject({ code: 'unreadable_file', exitCode: 2 })
  })

  test('a checkout that is not there says to check out first', () => {
    expect(refusal(() => withinCheckout(join(folder, 'none'), 'a', 'workflow')).help).toContain(
      'check out the repository',
    )
  })
})
