import fc from 'fast-check'
import { afterEach, describe, expect, it, test } from 'vitest'
import { type Floor, parseFloor } from '../../policy/decision/index.ts'
import { beneathRepositoryRules, beyondFloor } from '../../policy/document/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import { stricterFloor } from '../../runner/stricter-floor.ts'
import { floors } from '../decision/arbitraries.ts'
import { build, planOf, workflow } from '../document/support.ts'
import { createScene, planOf as plan, resume, type Scene, start, vote, write } from '../runner/support.ts'

/** A floor that has become stricter than what a run was made under. */
function floorOf(spec: JsonObject, source = 'organisation'): Floor {
  const parsed = parseFloor(
    { apiVersion: 'agentctl.dev/v1', kind: 'SecurityFloor', metadata: { name: 'f' }, spec },
    source,
  )
  if (!parsed.ok) throw new Error(parsed.message)
  return parsed.floor
}

const document = workflow(`
  policy:
    processAllowlist: ["true", git]
    writableRoots: [out]
    networkAllowlist: [api.example.com]
    network: {allowPrivate: true, connectTimeoutSeconds: 20}
    providers: [openai]
  memory: {longTerm: {namespace: notes, retentionDays: 30}}
  runtime: {maxConcurrency: 8, budgets: {maxWallTimeSeconds: 900}}
  actions:
    run: {kind: builtin.shell.exec, command: /bin/true, timeoutSeconds: 300, stdoutLimitBytes: 5000, env: {A: {process: {command: pass, timeoutSeconds: 9}}}}
    write: {kind: builtin.write}
    note: {kind: builtin.long_term_memory.write}
    assign: {kind: builtin.assign}
  tasks:
    - {id: run, uses: "action:run", retry: {maxAttempts: 4, backoffMs: 200}}
    - {id: write, uses: "action:write", needs: [run], with: {path: out/x, content: x}}
    - {id: note, uses: "action:note", with: {key: k, value: v}}
    - {id: each, uses: "action:assign", foreach: {items: [1, 2, 3]}, with: {v: "\${{ vars.item }}", timeoutSeconds: 86400}}
    - {id: loop, uses: "action:assign", loop: {maxIterations: 4, while: "vars.loopIndex < 9"}, with: {v: 1}}
`).replace(
  '    processAllowlist',
  '    secretProcessAllowlist: [pass]\n    environmentAllowlist: [A]\n    processAllowlist',
)

describe('a stored plan under the floor of now', () => {
  it.each<[JsonObject, string[]]>([
    [{}, []],
    [{ notify: ['@acme/release'], plainWords: false, minimumApprovals: 3, searchPath: ['/opt/x'] }, []],
    [{ policy: { processAllowlist: ['git', 'true', 'sh'] } }, []],
    [{ policy: { processAllowlist: ['git'] } }, ['processAllowlist']],
    [{ policy: { writableRoots: ['out/deep'] } }, ['writableRoots']],
    [{ policy: { networkAllowlist: ['*.example.com'] } }, []],
    [{ policy: { networkAllowlist: [] } }, ['networkAllowlist']],
    [{ policy: { network: { allowPrivate: false } } }, ['network.allowPrivate']],
    [{ policy: { network: { connectTimeoutSeconds: 19 } } }, ['network.connectTimeoutSeconds']],
    [{ policy: { network: { maxResponseBytes: 1000 } } }, ['network.maxResponseBytes']],
    [{ policy: { providers: [] } }, ['providers']],
    [{ policy: { toolsAllow: ['filesystem.write'] } }, ['toolsAllow']],
    [{ policy: { toolsDeny: ['filesystem.write'] } }, ['toolsDeny']],
    [{ policy: { approval: 'always' } }, ['approval']],
    [{ policy: { approval: 'never' } }, []],
    [{ policy: { nonInteractive: 'fail' } }, ['nonInteractive']],
    [{ policy: { workspaceRoot: 'sub' } }, ['workspaceRoot']],
    [{ minimumIsolation: 'process' }, []],
    [{ minimumIsolation: 'container' }, ['minimumIsolation']],
    [{ workspaceNotCaptured: 'warn' }, []],
    [{ workspaceNotCaptured: 'error' }, ['workspaceNotCaptured']],
    [{ limits: { timeoutSeconds: 300 } }, []],
    [{ limits: { timeoutSeconds: 299 } }, ['limits.timeoutSeconds']],
    [{ limits: { stdoutLimitBytes: 4999 } }, ['limits.stdoutLimitBytes']],
    [{ limits: { stderrLimitBytes: 1_048_575 } }, ['limits.stderrLimitBytes']],
    [{ limits: { maxAttempts: 3, backoffMs: 199 } }, ['limits.backoffMs', 'limits.maxAttempts']],
    [{ limits: { maxConcurrency: 7 } }, ['limits.maxConcurrency']],
    [{ limits: { maxWallTimeSeconds: 899 } }, ['limits.maxWallTimeSeconds']],
    [{ limits: { maxProcessOutputBytes: 1e12 } }, ['limits.maxProcessOutputBytes']],
    [{ limits: { maxArtifactBytes: 16_777_216 } }, []],
    [{ limits: { maxArtifactBytes: 16_777_215 } }, ['limits.maxArtifactBytes']],
    [{ limits: { maxItems: 3 } }, []],
    [{ limits: { maxItems: 2 } }, ['limits.maxItems']],
    [{ limits: { maxIterations: 3 } }, ['limits.maxIterations']],
    [{ limits: { maxExpansionItems: 2, maxLoopIterations: 4 } }, ['limits.maxExpansionItems']],
    [{ limits: { maxTasks: 1 } }, ['limits.maxTasks']],
    [{ limits: { maxProviderRequests: 0, maxTotalTokens: 0, maxCostMicrousd: 0 } }, []],
  ])('%j breaks %j', (spec, fields) => {
    const made = planOf(document)
    const found = beyondFloor(made, floorOf(spec))
    expect(found.map(({ field }) => field).sort()).toEqual(fields)
    for (const { message, floor } of found) {
      expect(floor).toBe('organisation')
      expect(message).toContain('organisation')
      expect(message).toMatch(/start a new run|; the floor allows|; use /)
    }
  })

  it('names memory that is kept for good and an image that is not allowed any more', () => {
    const forGood = planOf(document.replace(', retentionDays: 30', ''))
    expect(beyondFloor(forGood, floorOf({ limits: { retentionDays: 3650 } })).map(({ field }) => field)).toEqual([
      'limits.retentionDays',
    ])
    const made = planOf(document)
    const image = `x@sha256:${'a'.repeat(64)}`
    const [process] = made.processes
    if (process === undefined) throw new Error('no process')
    const contained = {
      ...made,
      processes: [{ ...process, isolation: 'container' as const, container: { image, runtime: 'auto' as const } }],
    }
    expect(beyondFloor(contained, floorOf({ images: [image] }))).toEqual([])
    expect(beyondFloor(contained, floorOf({ images: [] })).map(({ field }) => field)).toEqual(['images'])
  })

  it('is never refused by the floor that it was made under', () => {
    const under = { limits: { timeoutSeconds: 60, maxTasks: 50 }, policy: { approval: 'always' } }
    const made = planOf(document.replace('timeoutSeconds: 300, ', ''), { floor: floorOf(under) })
    expect(beyondFloor(made, floorOf(under))).toEqual([])
    expect(beyondFloor(made, floorOf({ ...under, notify: ['@someone'] }))).toEqual([])
    expect(beyondFloor(made, null)).toEqual([])
  })

  it('what the compiler refuses under a floor, no run goes on with; what it takes as it stands, every run does', () => {
    const free = planOf(document)
    fc.assert(
      fc.property(floors, floor => {
        const { plan: under, diagnostics } = build(document, { floor })
        const refuses = diagnostics.some(({ severity }) => severity === 'error')
        const found = beyondFloor(free, floor)
        if (refuses) expect(found).not.toEqual([])
        if (under === null) return
        // The plan that this floor itself gives stands under it, whatever else is added that asks nothing of a plan.
        expect(beyondFloor(under, { ...floor, notify: ['@nobody-else'] })).toEqual([])
      }),
      { numRuns: 300 },
    )
  })
})

describe('rules about repositories', () => {
  const host = planOf(document)
  const none = { ...host, processes: [] }
  const job = { repository: 'Acme/.github', workflowRef: 'Acme/.github/.github/workflows/r.yml@refs/heads/main' }
  test.each<[JsonObject, typeof host, string[]]>([
    [{ protectedRepositories: ['acme/*'] }, host, ['protectedRepositories']],
    [{ protectedRepositories: ['*'] }, host, ['protectedRepositories']],
    [{ protectedRepositories: ['acme/.git*b'] }, host, ['protectedRepositories']],
    [{ protectedRepositories: ['acme/app'] }, host, []],
    [{ protectedRepositories: ['acme/*'] }, none, []],
    [{ allowedWorkflowRefs: ['Acme/*@refs/heads/main'] }, host, []],
    [{ allowedWorkflowRefs: ['acme/*@refs/heads/main'] }, host, ['allowedWorkflowRefs']],
    [{ allowedWorkflowRefs: [] }, host, ['allowedWorkflowRefs']],
  ])('%j', (spec, made, fields) => {
    expect(beneathRepositoryRules(made, floorOf(spec), job).map(({ field }) => field)).toEqual(fields)
  })

  test.each(['acme', 'acme/{a,b}', 'acme/app?', 'acme/[ab]', '!acme/app', 'acme/app/x', ''])(
    'a pattern that could protect nothing is refused: %s',
    pattern => {
      expect(parseFloor({ protectedRepositories: [pattern] }, 'f')).toMatchObject({ ok: false })
    },
  )
})

describe('a run that was approved and has not gone on', () => {
  const scenes: Scene[] = []
  afterEach(() => {
    for (const made of scenes.splice(0)) made.dispose()
  })

  async function approved() {
    const scene = createScene()
    scenes.push(scene)
    const made = plan({
      policy: { writableRoots: ['out'], approval: 'mutations' },
      actions: { write },
      tasks: ['a', 'b'].map(id => ({ id, uses: 'action:write', with: { path: `out/${id}`, content: 'x' } })),
    })
    const paused = await start(scene, made)
    vote(scene, paused, 'approve')
    return { scene, run: paused.run, snapshot: () => scene.ledger.store.snapshot(paused.run) }
  }

  it.each<[JsonObject, string[]]>([
    [{ minimumApprovals: 1 }, []],
    [{ minimumApprovals: 2 }, ['minimumApprovals', 'minimumApprovals']],
    [{ approvers: { users: ['local:0'] } }, []],
    [{ approvers: { users: ['alice'] } }, ['approvers', 'approvers']],
    [{ approvers: { users: ['alice'], teams: ['acme/release'] } }, []],
    [{ policy: { writableRoots: [] }, minimumApprovals: 1 }, ['writableRoots']],
  ])('under %j', async (spec, fields) => {
    const { snapshot } = await approved()
    const recorded = snapshot()
    if (recorded === null) throw new Error('no run')
    expect(stricterFloor(recorded, floorOf(spec), null).map(({ field }) => field)).toEqual(fields)
    expect(stricterFloor(recorded, null, null)).toEqual([])
  })

  it('and one who asked for the run does not count where requesters may not decide', async () => {
    const { snapshot } = await approved()
    const recorded = snapshot()
    if (recorded === null) throw new Error('no run')
    const person = { id: 7, login: 'alice' }
    const pauses = recorded.pauses.map(pause => ({
      ...pause,
      items: pause.items.map(item => ({
        ...item,
        resolution: item.resolution === null ? null : { ...item.resolution, by: [person] },
      })),
    }))
    const requesters = [{ ...person, role: 'actor' }]
    const asked = { ...recorded, pauses, record: { ...recorded.record, requesters } }
    const fields = (floor: JsonObject) => stricterFloor(asked, floorOf(floor), null).map(({ field }) => field)
    expect(fields({})).toEqual(['preventSelfApproval', 'preventSelfApproval'])
    expect(fields({ preventSelfApproval: false })).toEqual([])
  })

  it('has nothing to answer for once its effects have run', async () => {
    const { scene, run, snapshot } = await approved()
    expect(await resume(scene, run)).toMatchObject({ state: 'succeeded' })
    const recorded = snapshot()
    if (recorded === null) throw new Error('no run')
    expect(stricterFloor(recorded, floorOf({ minimumApprovals: 9 }), null)).toEqual([])
  })

  it('a later pause of it waits no longer than the floor of now lets it', async () => {
    const scene = createScene()
    scenes.push(scene)
    const gated = { path: 'out/a', content: 'x' }
    const made = plan({
      policy: { writableRoots: ['out'], approval: 'mutations' },
      actions: { write },
      tasks: [
        { id: 'a', uses: 'action:write', with: gated },
        {
          id: 'b',
          uses: 'action:write',
          needs: ['a'],
          with: { path: 'out/b', content: `\${{ tasks.a.output.path }}` },
        },
      ],
    })
    const paused = await start(scene, made)
    vote(scene, paused, 'approve')
    const again = await resume(scene, paused.run, { run: { expiresWithinSeconds: 3600 } })
    expect(again.state).toBe('paused')
    const { createdAt = '', expiresAt = '' } = again.pause ?? {}
    expect((Date.parse(expiresAt) - Date.parse(createdAt)) / 1000).toBeCloseTo(3600, -1)
  })
})
