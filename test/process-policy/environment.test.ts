import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isReservedVariable } from '../../policy/decision/reserved-variables.ts'
import type { Isolation } from '../../policy/effect.ts'
import type { JsonObject } from '../../policy/json.ts'
import { checkEnvironmentNames } from '../../runner/process/command.ts'
import { containerFacts, decided, processEffect, processFacts } from '../decision/questions.ts'
import { createScene, type Scene } from '../runner/support.ts'
import { effectOf, refusalOf, resultOf, runTool, sh, toolPlan } from './tool.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const environment = { TOKEN: 'correct horse', OTHER: 'battery staple', EMPTY: '', SHORT: 'abc' }

/** Runs /usr/bin/env itself: a shell would add variables of its own. */
const run = (env: JsonObject, environmentAllowlist: string[], job: { [name: string]: string } = environment) =>
  runTool(scene, { command: '/usr/bin/env', env }, { policy: { environmentAllowlist }, ports: { environment: job } })

describe('seed: The child receives no ambient environment', () => {
  test('neither of agentctl’s process nor of the job', async () => {
    expect(Object.keys(process.env).length).toBeGreaterThan(2)
    expect(resultOf(await run({}, ['TOKEN', 'PATH', 'HOME']))).toMatchObject({ exitCode: 0, stdout: '' })
  })
})

describe('seed: Only action env entries authorized by policy are added', () => {
  test('what is allowed under both names, and nothing beside it', async () => {
    const env = { RENAMED: { env: 'TOKEN' } }
    const outcome = await run(env, ['RENAMED', 'TOKEN', 'OTHER'])
    expect(resultOf(outcome)).toMatchObject({ stdout: 'RENAMED=***\n' })
    expect(effectOf(scene, outcome).binding).toMatchObject({ environment: { RENAMED: { source: 'TOKEN' } } })
  })

  test.each([
    ['the variable as set', ['TOKEN'], 'RENAMED'],
    ['the variable as read', ['RENAMED'], 'TOKEN'],
    ['both', [], 'RENAMED'],
    ['another case', ['renamed', 'token'], 'RENAMED'],
  ])('refused where the list lacks %s', async (_, allowed, missing) => {
    const outcome = await run({ RENAMED: { env: 'TOKEN' } }, allowed)
    expect(outcome).toMatchObject({ state: 'denied', exitCode: 3 })
    expect(refusalOf(scene, outcome)).toMatchObject({
      rule: 'environmentAllowlist',
      subject: 'RENAMED',
      remedy: expect.stringContaining(`\`${missing}\``),
    })
  })

  test('one refused variable among allowed ones refuses the process', async () => {
    const outcome = await run({ TOKEN: { env: 'TOKEN' }, OTHER: { env: 'OTHER' } }, ['TOKEN'])
    expect(refusalOf(scene, outcome).subject).toBe('OTHER')
  })
})

describe('a source without a value', () => {
  test.each([
    ['not set', 'ABSENT', 'missing_variable', 'set `ABSENT`'],
    ['empty', 'EMPTY', 'empty_variable', 'give `EMPTY` a value'],
    ['under four characters', 'SHORT', 'secret_refused', '4 characters or more'],
  ])('%s: denied, with what to change', async (_, source, rule, remedy) => {
    const outcome = await run({ V: { env: source } }, ['V', source])
    expect(outcome).toMatchObject({ state: 'denied', exitCode: 3 })
    expect(refusalOf(scene, outcome)).toMatchObject({ rule, subject: 'V', remedy: expect.stringContaining(remedy) })
  })

  test.each(['ABSENT', 'EMPTY', 'SHORT', 'TOKEN'])('of %s, which may not be read, nothing is told', async source => {
    const outcome = await run({ V: { env: source } }, ['V'])
    expect(refusalOf(scene, outcome).rule).toBe('environmentAllowlist')
    expect(effectOf(scene, outcome).decision.reason).not.toMatch(/set on|empty|short|character/)
  })
})

describe('names', () => {
  test.each(['', 'A=B', 'A\0B', '1A', 'A-B', 'A B', 'Ä', 'A\n'])('%j is refused with the document', name => {
    expect(() => toolPlan({ command: 'env', env: { [name]: { env: 'TOKEN' } } }, { environmentAllowlist: [] })).toThrow(
      'invalid_secret_reference',
    )
    expect(() => toolPlan({ command: 'env', env: { A: { env: name } } }, { environmentAllowlist: [] })).toThrow(
      /invalid/,
    )
  })

  test.each(['', 'A=B', 'A\0B', '1A', 'A-B'])('%j is refused by the decision too, whatever the plan says', name => {
    const facts = processFacts({ environment: { [name]: { source: 'A', sha256: 'a' } } })
    const { outcome, steps } = decided(processEffect, facts, {
      processAllowlist: ['git'],
      environmentAllowlist: [name, 'A'],
    })
    expect([outcome, steps.at(-1)?.rule]).toEqual(['deny', 'invalid_variable'])
  })

  test('lower case is a name of its own', async () => {
    expect(resultOf(await run({ token: { env: 'TOKEN' } }, ['token', 'TOKEN']))).toMatchObject({
      stdout: 'token=***\n',
    })
  })

  test('two that differ by case are two, except on Windows, where they are refused by name', async () => {
    const env = { v: { env: 'TOKEN' }, V: { env: 'OTHER' } }
    const { stdout } = resultOf(await run(env, ['v', 'V', 'TOKEN', 'OTHER']))
    expect(String(stdout).split('\n').sort()).toEqual(['', 'V=***', 'v=***'])
    expect(() => checkEnvironmentNames(['v', 'V'], 'linux')).not.toThrow()
    expect(() => checkEnvironmentNames(['v', 'V'], 'win32')).toThrow(/`v` and `V`/)
  })
})

test('values arrive as they are: line ends, quotes, any letters', async () => {
  const value = ` a"b'c$(d)\n\\ü€💥=; `
  const outcome = await runTool(
    scene,
    sh('printf %s "$V" | od -An -tx1 | tr -d " \\n"', { env: { V: { env: 'V' } } }),
    { policy: { environmentAllowlist: ['V'] }, ports: { environment: { V: value } } },
  )
  expect(resultOf(outcome)['stdout']).toBe(Buffer.from(value).toString('hex'))
})

/** Variables that the runner, an engine, a loader or an interpreter takes its orders from. */
const credentials = [
  'ACTIONS_RUNTIME_TOKEN',
  'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
  'INPUT_GITHUB_TOKEN',
  'RUNNER_TRACKING_ID',
  'RUNNER_TEMP',
]
const engine = [
  'DOCKER_HOST',
  'CONTAINER_HOST',
  'CONTAINERS_CONF',
  'PODMAN_USERNS',
  'HOME',
  'PATH',
  'TMPDIR',
  'TMP',
  'XDG_RUNTIME_DIR',
]
const loaders = [
  'LD_PRELOAD',
  'LD_LIBRARY_PATH',
  'NODE_OPTIONS',
  'BASH_ENV',
  'PYTHONSTARTUP',
  'GIT_SSH_COMMAND',
  'GITHUB_TOKEN',
]

describe('a host process', () => {
  test.each([...credentials, ...engine, ...loaders])('gets %s only where the list names it', async name => {
    const job = { [name]: '/nowhere/at/all' }
    const refused = await run({ [name]: { env: name } }, ['OTHER'], job)
    expect(refusalOf(scene, refused)).toMatchObject({ rule: 'environmentAllowlist', subject: name })
    const facts = processFacts({ environment: { [name]: { source: name, sha256: 'a' } } })
    const { outcome } = decided(processEffect, facts, { processAllowlist: ['git'], environmentAllowlist: [name] })
    expect(outcome).toBe('allow')
  })
})

const factsOf = (isolation: Isolation) => (isolation === 'container' ? containerFacts : processFacts)

describe.each(['container', 'cell'] satisfies Isolation[])('a %s', isolation => {
  const judged = (variable: string, source: string) =>
    decided(
      { ...processEffect, isolation },
      factsOf(isolation)({ environment: { [variable]: { source, sha256: 'a' } } }),
      {
        processAllowlist: ['git'],
        environmentAllowlist: [variable, source],
      },
    )

  test.each([...credentials, ...engine])('never gets %s, whatever the list says, nor its value', name => {
    for (const [variable, source] of [
      [name, 'X'],
      ['X', name],
      [name.toLowerCase(), 'X'],
    ] as const) {
      const { outcome, steps } = judged(variable, source)
      expect([outcome, steps.at(-1)?.rule, steps.at(-1)?.subject]).toEqual(['deny', 'reserved_variable', variable])
      expect(steps.at(-1)?.remedy).not.toBe('')
    }
  })

  test.each(loaders)('gets %s where the list names it', name => {
    expect(isReservedVariable(name)).toBe(false)
    expect(judged(name, name).outcome).toBe('allow')
  })
})
