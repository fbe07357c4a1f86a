import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type GitHubDouble, type RepositoryOptions, startGitHub } from '../github/index.ts'
import { type AskingRepository, askingRepository } from '../harness/asking.ts'
import { type ControlPlane, startControlPlane } from '../harness/control-plane.ts'

let github: GitHubDouble
let plane: ControlPlane
let count = 0

beforeAll(async () => {
  // One installation for all repositories of this file: GitHub's pace is another file's subject.
  github = await startGitHub({ limits: { contentPerMinute: 10_000, contentPerHour: 10_000 } })
  plane = await startControlPlane(github)
})
afterAll(async () => {
  await plane.close()
  await github.close()
})

const floorPath = '.github/agentctl/floor.yaml'
const floorText = (spec: object) =>
  JSON.stringify({ apiVersion: 'agentctl.dev/v1', kind: 'SecurityFloor', metadata: { name: 'floor' }, spec })

/** A repository under this floor, of an organisation of its own unless the test shares one. */
function place(
  floor: object | null = null,
  { org = 'octo', ...options }: Partial<RepositoryOptions> & { org?: string } = {},
): AskingRepository {
  const files = floor === null ? {} : { [floorPath]: floorText(floor) }
  return askingRepository(github, plane, { name: `${org}/eligible-${++count}`, files, ...options })
}

const roles = {
  reader: 'read',
  triager: 'triage',
  writer: 'write',
  maintainer: 'maintain',
  admin: 'admin',
  looker: { name: 'looker', base: 'read' },
  releaser: { name: 'releaser', base: 'write' },
  owner: { name: 'owner-like', base: 'admin' },
} as const

describe('the permission on the repository, read at that moment', () => {
  test.each<[string, object | null, (keyof typeof roles)[]]>([
    ['no floor', null, ['writer', 'maintainer', 'admin', 'releaser', 'owner']],
    ['a floor that names none', {}, ['writer', 'maintainer', 'admin', 'releaser', 'owner']],
    [
      'triage',
      { approvers: { permission: 'triage' } },
      ['triager', 'writer', 'maintainer', 'admin', 'releaser', 'owner'],
    ],
    ['maintain', { approvers: { permission: 'maintain' } }, ['maintainer', 'admin', 'owner']],
    ['admin', { approvers: { permission: 'admin' } }, ['admin', 'owner']],
  ])('%s', async (_name, floor, eligible) => {
    const asked = await place(floor, { private: true, collaborators: roles }).ask({
      settings: { minimumApprovals: 50 },
    })
    for (const login of Object.keys(roles)) await asked.say(login, '/approve')
    await asked.judged()
    expect(await asked.voters()).toEqual(eligible)
    expect(await asked.notes()).toEqual(Array(Object.keys(roles).length - eligible.length).fill('permission_too_low'))
  })

  test('lost meanwhile: no; given meanwhile: yes; an approval that was counted stays', async () => {
    const there = place()
    const asked = await there.ask({ settings: { minimumApprovals: 2 } })
    there.repository.setCollaborator('alice', null)
    await asked.say('alice', '/approve')
    await asked.judged()
    expect(await asked.voters()).toEqual([])
    await asked.say('bob', '/approve')
    await asked.judged()
    there.repository.setCollaborator('bob', null)
    there.repository.setCollaborator('newcomer', 'write')
    await asked.say('newcomer', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
  })
})

describe('cases 11 and 19: GitHub does not answer', () => {
  test('a permission or a membership that cannot be read: not counted now, asked again, then counted', async () => {
    github.teams.add({ org: 'shaky', slug: 'crew', members: ['bob'] })
    const failing = async (status: number, org: string, part: RegExp, teams?: string[]) => {
      const there = place(null, { org })
      const asked = await there.ask({ settings: teams === undefined ? {} : { teams } })
      const repository = new RegExp(`${there.repository.fullName}/|/orgs/`)
      github.faults.add({ route: ({ path }) => part.test(path) && repository.test(path), status, message: 'no' })
      const comment = await asked.say('bob', '/approve')
      await github.until(() => asked.issue.state === 'closed' && comment.reactions.length > 1, 40_000)
      expect(await asked.outcomes()).toEqual(['approved'])
      expect(comment.reactions.map(({ content }) => content)).toEqual(['eyes', '+1'])
      const answers = github.requests.all.filter(({ path }) => part.test(path) && repository.test(path))
      expect(answers.map(answer => answer.status)).toEqual([status, 200])
      expect(await asked.notes()).toEqual([])
      expect(asked.starts()).toBe(1)
    }
    await Promise.all([
      failing(404, 'octo', /\/collaborators\/bob\/permission$/),
      failing(500, 'octo', /\/collaborators\/bob\/permission$/),
      failing(502, 'shaky', /\/orgs\/shaky\/teams\/crew\/memberships\/bob$/, ['shaky/crew']),
    ])
    expect(github.faults.pending).toEqual([])
  })
})

describe('people and teams on a list', () => {
  test('cases 2 and 6: two spellings are one person, a deleted account is no obstacle', async () => {
    const there = place()
    const asked = await there.ask({ settings: { users: ['Bob', 'bob', 'deleted-long-ago'], minimumApprovals: 2 } })
    expect(asked.issue.body).toContain('deleted-long-ago')
    await asked.say('alice', '/approve')
    await asked.say('bob', '/approve')
    await asked.say('bob', 'lgtm')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    expect(await asked.notes()).toEqual(['not_an_approver'])
  })

  test('case 7: active members of teams of 31 and 150, in whatever order lists come', async () => {
    const many = (size: number, name: string) => Array.from({ length: size }, (_, index) => `${name}-${index}`)
    github.teams.add({ org: 'large', slug: 'small', members: many(31, 'small') })
    github.teams.add({
      org: 'large',
      slug: 'big',
      members: [...many(150, 'big'), { user: 'invited', state: 'pending' }],
    })
    const there = place(null, { org: 'large' })
    for (const login of ['small-30', 'big-149', 'invited']) there.repository.setCollaborator(login, 'write')
    const asked = await there.ask({ settings: { teams: ['Large/small', 'large/big'], minimumApprovals: 2 } })
    github.faults.add({ route: ({ path }) => path.startsWith('/orgs/large/teams/'), shuffle: true, times: 100 })
    for (const login of ['invited', 'bob', 'small-0', 'small-30', 'big-149']) await asked.say(login, '/approve')
    expect(await asked.decided()).toEqual(['approved'])
    expect(await asked.voters()).toEqual(['small-30', 'big-149'])
    expect(await asked.notes()).toEqual(['not_an_approver', 'not_an_approver', 'permission_too_low'])
    github.faults.clear()
  })

  test('an account on the list by its id decides under any name; the name alone does not', async () => {
    const first = github.users.add('first-name')
    const there = place(
      { preventSelfApproval: false, approvers: { users: [{ login: 'first-name', id: first.id }] } },
      { collaborators: { 'first-name': 'write' } },
    )
    const asked = await there.ask()
    github.users.rename(first, 'second-name')
    github.users.add('first-name')
    there.repository.setCollaborator('first-name', 'write')
    await asked.say('first-name', '/approve')
    await asked.judged()
    expect(await asked.notes()).toEqual(['login_id_mismatch'])
    await asked.say('second-name', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
  })

  test('a bare login is bound to the account that first decided under it', async () => {
    const there = place(null, { collaborators: { binder: 'write' } })
    const settings = { users: ['binder'] }
    const asked = await there.ask({ settings })
    await asked.say('binder', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
    github.users.rename(github.users.ensure('binder'), 'binder-before')
    github.users.add('binder')
    there.repository.setCollaborator('binder', 'write')
    const again = await there.ask({ settings })
    await again.say('binder', '/approve')
    await again.judged()
    expect(await again.outcomes()).toEqual([null])
    expect(await again.notes()).toEqual(['login_id_mismatch'])
  })

  test('being listed does not give the permission; being assigned gives nothing', async () => {
    const there = place()
    const asked = await there.ask({ settings: { users: ['carol'] } })
    asked.issue.assignees.push(github.users.ensure('bob'))
    await asked.say('carol', '/approve')
    await asked.say('bob', '/approve')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    expect(await asked.notes()).toEqual(['permission_too_low', 'not_an_approver'])
  })
})

describe('floors', () => {
  test('of the repository and of the organisation’s .github: the stricter of each word', async () => {
    github.repositories.add({
      name: 'strict/.github',
      files: { [floorPath]: floorText({ minimumApprovals: 2, approvers: { permission: 'write' } }) },
    })
    const there = place({ approvers: { permission: 'maintain' } }, { org: 'strict', collaborators: { max: 'admin' } })
    const asked = await there.ask()
    for (const login of ['bob', 'alice']) await asked.say(login, '/approve')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    expect(await asked.voters()).toEqual(['alice'])
    await asked.say('max', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
  })

  test('what an input asks for can only tighten', async () => {
    const there = place({ minimumApprovals: 2, approvers: { users: ['alice', 'bob'] }, plainWords: false })
    const asked = await there.ask({
      settings: { minimumApprovals: 1, preventSelfApproval: false, users: ['bob', 'max'] },
    })
    there.repository.setCollaborator('max', 'admin')
    for (const login of ['alice', 'max', 'bob', 'starter']) await asked.say(login, '/approve')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    expect(await asked.voters()).toEqual(['bob'])
  })

  test('tightened after the pause: it binds the decision', async () => {
    const there = place()
    const asked = await there.ask()
    there.repository.commit({ files: { [floorPath]: floorText({ minimumApprovals: 2 }) } })
    await asked.say('starter', '/approve')
    await asked.say('alice', '/approve')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    expect(await asked.notes()).toEqual(['requester'])
    await asked.say('bob', '/approve')
    expect(await asked.decided()).toEqual(['approved'])
  })

  test('loosened after the pause: what held at the pause binds', async () => {
    const there = place({ minimumApprovals: 2, approvers: { permission: 'maintain' } })
    const asked = await there.ask()
    there.repository.commit({ files: { [floorPath]: null } })
    await asked.say('bob', '/approve')
    await asked.say('alice', '/approve')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    expect(await asked.voters()).toEqual(['alice'])
  })

  test('a floor that lists nobody in common with the pause leaves nobody', async () => {
    const there = place({ approvers: { users: ['alice'] } })
    const asked = await there.ask()
    there.repository.commit({ files: { [floorPath]: floorText({ approvers: { users: ['bob'] } }) } })
    for (const login of ['alice', 'bob']) await asked.say(login, '/approve')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
    expect(await asked.notes()).toEqual(['nobody_eligible', 'nobody_eligible'])
  })

  test('a branch’s own floor is not the default branch’s', async () => {
    const there = place({ minimumApprovals: 2 })
    there.repository.commit({ branch: 'topic', files: { [floorPath]: null } })
    const asked = await there.ask({ start: { event: 'push', ref: 'topic' } })
    await asked.say('alice', '/approve')
    await asked.judged()
    expect(await asked.outcomes()).toEqual([null])
  })
})
