import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { counted, gatedWrite, openStage, type Play, type PlayOptions, type Stage } from '../e2e/stage.ts'

/** The floor as the control plane reads it: on the default branch and in the organisation's `.github`, from GitHub, by the built Action. */
const floorPath = '.github/agentctl/floor.yaml'
const floorText = (spec: JsonObject) =>
  JSON.stringify({ apiVersion: 'agentctl.dev/v1', kind: 'SecurityFloor', metadata: { name: 'floor' }, spec })

let stage: Stage
let places = 0
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

type Content = string | Uint8Array

interface Floors {
  repository?: Content
  organisation?: Content
}

/** A play in an organisation of its own, whose `.github` is public. */
async function playUnder({ repository, organisation }: Floors, options: PlayOptions): Promise<Play> {
  places++
  if (organisation !== undefined)
    stage.scene.github.repositories.add({
      name: `octo-${places}/.github`,
      files: { [floorPath]: organisation as string },
    })
  const files = repository === undefined ? {} : { [floorPath]: repository as string }
  return stage.begin({ ...options, files: { ...files, ...options.files } })
}

const setFloor = (play: Play, spec: JsonObject | string | null) =>
  play.repository.commit({
    files: { [floorPath]: spec === null || typeof spec === 'string' ? spec : floorText(spec) },
  })

const writing: JsonObject = { ...gatedWrite, policy: { writableRoots: ['out'], approval: 'never' } }
const running: JsonObject = {
  policy: { processAllowlist: ['true'], approval: 'never' },
  actions: { run: { kind: 'builtin.shell.exec', command: '/bin/true' } },
  tasks: [{ id: 'run', uses: 'action:run' }],
}
const output = (play: Play) => play.step().outputs
const log = (play: Play) => play.step().log

const runsOf = async (play: Play) => (await play.ask('/runs')).body['items'] as JsonObject[]

it('none: the record and the API say so', async () => {
  const play = await playUnder({}, { spec: writing })
  expect(output(play)['status'], log(play)).toBe('succeeded')
  const [created] = await play.events()
  expect(created?.data).toMatchObject({ floorDigest: null, hostFloor: { state: 'none' } })
  expect((await play.ask('/floor')).body).toEqual({ floor: null, floorDigest: null, sources: [] })
})

it('both sources meet; the digest of what holds is in the audit, the run and the API', async () => {
  const play = await playUnder(
    {
      organisation: floorText({ policy: { processAllowlist: ['git', 'true'] }, limits: { timeoutSeconds: 600 } }),
      repository: floorText({ policy: { processAllowlist: ['true', 'sh'] }, minimumApprovals: 2 }),
    },
    { spec: running },
  )
  expect(output(play)['status'], log(play)).toBe('succeeded')
  const { body } = await play.ask('/floor')
  expect(body).toMatchObject({
    floor: { policy: { processAllowlist: ['true'] }, limits: { timeoutSeconds: 600 }, minimumApprovals: 2 },
    floorDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    sources: [
      expect.stringMatching(new RegExp(`^octo-${places}/\\.github:${floorPath}@`)),
      expect.stringMatching(new RegExp(`^octo-${places}/app:${floorPath}@`)),
    ],
  })
  const [created] = await play.events()
  expect(created?.data['floorDigest']).toBe(body['floorDigest'])
  expect((await runsOf(play))[0]).toMatchObject({ floorDigest: body['floorDigest'] })
})

it.each<[string, Floors, RegExp]>([
  [
    'the repository',
    { repository: floorText({ policy: { processAllowlist: [] } }) },
    /floor_violation.*policy\.processAllowlist asks for `true`, which the floor set by repository does not allow/s,
  ],
  [
    'the organisation',
    { organisation: floorText({ minimumIsolation: 'cell' }), repository: floorText({ minimumIsolation: 'process' }) },
    /floor_violation.*weaker than the `cell` that the floor set by organisation requires/s,
  ],
  [
    'both',
    {
      organisation: floorText({ policy: { processAllowlist: ['git'] } }),
      repository: floorText({ policy: { processAllowlist: ['sh'] } }),
    },
    /floor_violation.*set by organisation and repository does not allow; the floor allows nothing/s,
  ],
])('a document beyond the floor of %s makes no run, and is told whose it is', async (_, floors, message) => {
  const play = await playUnder(floors, { spec: running })
  expect(output(play)['status']).not.toBe('succeeded')
  expect(log(play)).toMatch(message)
  expect(await runsOf(play)).toEqual([])
})

describe('a floor that cannot be read is a refusal, never no floor', () => {
  const envelope = (kind: string) => JSON.stringify({ apiVersion: 'agentctl.dev/v1', kind, metadata: { name: 'x' } })
  const bad: [string, Content, RegExp][] = [
    ['no YAML', 'kind: [', /not valid YAML/],
    ['another kind', envelope('Workflow'), /kind: /],
    ['no kind', '{}', /not a valid SecurityFloor/],
    ['an unknown field', floorText({ minimumAprovals: 2 }), /minimumAprovals/],
    ['an unknown field of the policy', floorText({ policy: { procesAllowlist: [] } }), /procesAllowlist/],
    ['an unknown limit', floorText({ limits: { timeout: 5 } }), /timeout/],
    ['no bytes at all', '', /not a valid SecurityFloor/],
    ['an alias bomb', `${'a: &a [x,x,x,x,x,x,x,x,x,x]\nb: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n'}`, /SecurityFloor|YAML/],
    ['a key twice', floorText({}).replace('"spec"', '"spec":{},"spec"'), /not valid YAML/],
    ['more than 256 KiB', `#${'x'.repeat(262_144)}\n${floorText({})}`, /larger than 262144 bytes/],
    ['more than GitHub shows', `#${'x'.repeat(1_100_000)}\n${floorText({})}`, /regular file of at most/],
    ['bytes that are no UTF-8', Uint8Array.from([0x61, 0xe4, 0x0a]), /UTF-8/],
  ]
  it.each(bad)('%s', async (_, content, message) => {
    const play = await playUnder({ repository: content }, { spec: writing })
    expect(output(play)['status']).toBe('failed')
    expect(log(play)).toMatch(message)
    expect(log(play)).toContain(floorPath)
    expect(await runsOf(play)).toEqual([])
    expect(play.file('out/approved.txt')).toBeNull()
    expect((await play.ask('/floor')).status).toBeGreaterThanOrEqual(400)
  })

  it('a folder in its place', async () => {
    const play = await playUnder({}, { spec: writing, files: { [`${floorPath}/x`]: 'x' } })
    expect(output(play)['status']).toBe('failed')
    expect(log(play)).toContain(floorPath)
  })

  it('of the organisation, whatever the repository has', async () => {
    const play = await playUnder({ organisation: 'kind: [', repository: floorText({}) }, { spec: writing })
    expect(output(play)['status']).toBe('failed')
    expect(log(play)).toContain(`octo-${places}/.github:${floorPath}`)
    expect(await runsOf(play)).toEqual([])
  })
})

describe('changed between the pause and the job that resumes', () => {
  const approved = 'out/approved.txt'

  it.each<[string, JsonObject, string]>([
    ['a root of writes', { policy: { writableRoots: ['other'] } }, 'policy.writableRoots'],
    ['more approvals in any case', { policy: { approval: 'always' } }, 'policy.approval'],
    ['a limit', { limits: { maxWallTimeSeconds: 60 } }, 'maxWallTimeSeconds'],
    ['a tool', { policy: { toolsDeny: ['filesystem.write'] } }, 'policy.toolsDeny'],
  ])('stricter in %s: nothing runs, by name, until it is taken back', async (_, spec, field) => {
    const play = await playUnder({}, { spec: gatedWrite })
    expect(output(play)['status'], log(play)).toBe('paused')
    const run = output(play)['run-id']
    setFloor(play, spec)
    await play.decide('/approve')
    expect(output(play)).toMatchObject({ status: 'denied', 'exit-code': '3', 'run-id': run })
    expect(log(play)).toMatch(/floor_violation: this run cannot resume here/)
    expect(log(play)).toContain(field)
    expect(log(play)).toContain('repository')
    expect(play.file(approved)).toBeNull()
    expect(counted(await play.events(run))['effect.started']).toBeUndefined()

    setFloor(play, null)
    await play.again()
    expect(output(play)['status'], log(play)).toBe('succeeded')
    expect(output(play)['run-id']).toBe(run)
    expect(counted(await play.events(run))).toMatchObject({ 'effect.started': 1 })
  })

  it('a repository that has become a protected one', async () => {
    const play = await playUnder(
      {},
      {
        spec: {
          policy: { processAllowlist: ['true'], approval: 'mutations' },
          actions: { run: { kind: 'builtin.shell.exec', command: '/bin/true' } },
          tasks: [{ id: 'run', uses: 'action:run' }],
        },
      },
    )
    setFloor(play, { protectedRepositories: ['*'] })
    await play.decide('/approve')
    expect(output(play)).toMatchObject({ status: 'denied', 'exit-code': '3' })
    expect(log(play)).toMatch(/floor_violation.*is a protected repository/s)
    expect(counted(await play.events())['effect.started']).toBeUndefined()
  })

  it('looser, or the same in other words: the run goes on, and what held at the pause is what its record says', async () => {
    const play = await playUnder(
      { repository: floorText({ policy: { writableRoots: ['out'] }, limits: { maxTasks: 5 } }) },
      { spec: gatedWrite },
    )
    const [created] = await play.events()
    setFloor(play, { policy: { writableRoots: ['out', 'more'] }, limits: { maxTasks: 50 } })
    await play.decide('/approve')
    expect(output(play)['status'], log(play)).toBe('succeeded')
    expect((await runsOf(play))[0]?.['floorDigest']).toBe(created?.data['floorDigest'])
    expect(play.file(approved)).toBe('approved by a person')
  })

  it('gone bad: the job is refused and the run waits as it was', async () => {
    const play = await playUnder({}, { spec: gatedWrite })
    const run = output(play)['run-id']
    setFloor(play, 'kind: [')
    await play.again()
    expect(output(play)['status']).toBe('failed')
    expect(log(play)).toContain('not valid YAML')
    expect((await runsOf(play))[0]).toMatchObject({ run, state: 'paused' })
    setFloor(play, null)
    await play.decide('/approve')
    expect(output(play), log(play)).toMatchObject({ status: 'succeeded', 'run-id': run })
  })
})

describe('protected repositories', () => {
  it.each<[string, JsonObject, string]>([
    ['a process of the host', running, 'denied'],
    ['nothing that runs a process', writing, 'succeeded'],
  ])('%s', async (_, spec, status) => {
    const play = await playUnder({ organisation: floorText({ protectedRepositories: ['octo-*/*'] }) }, { spec })
    expect(output(play)['status'], log(play)).toBe(status)
    if (status === 'denied') {
      expect(log(play)).toMatch(/protected_repository: .*is a protected repository, and action run runs in a process/)
      expect(log(play)).toContain('organisation')
    }
  })
})

describe('the floor of the host, in a job container', () => {
  const inContainer = { container: 'f00dfeed' }

  it('is told as not readable by the run, its audit, and each resumption', async () => {
    const play = await playUnder({}, { spec: gatedWrite, with: inContainer })
    expect(output(play)['status'], log(play)).toBe('paused')
    await play.decide('/approve')
    expect(output(play)['status'], log(play)).toBe('succeeded')
    const events = await play.events()
    const told = events.filter(({ type }) => type === 'run.created' || type === 'lease.acquired')
    expect(told.map(({ data }) => data['hostFloor'])).toEqual([{ state: 'not readable' }, { state: 'not readable' }])
    expect((await runsOf(play))[0]).toMatchObject({ hostFloor: { state: 'not readable' } })
  })

  it('is not done without where the floor requires it', async () => {
    const play = await playUnder(
      { organisation: floorText({ requireHostFloor: true }) },
      { spec: writing, with: inContainer },
    )
    expect(output(play)).toMatchObject({ status: 'denied', 'exit-code': '3' })
    expect(log(play)).toMatch(/host_floor_required: .* is not readable/)
    expect(await runsOf(play)).toEqual([])
  })
})
