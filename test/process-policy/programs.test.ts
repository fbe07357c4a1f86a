import { chmodSync, copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import type { RunnerPorts } from '../../runner/index.ts'
import { createScene, putFile, type Scene } from '../runner/support.ts'
import { codeOf, effectOf, refusalOf, resultOf, runTool } from './tool.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

const script = '#!/bin/sh\necho ran\n'

/** An executable file in a directory that only agentctl's user may write, outside the workspace. */
function trusted(name: string, content = script): string {
  const place = path.join(scene.directory, 'tools', name)
  mkdirSync(path.dirname(place), { recursive: true })
  writeFileSync(place, content, { mode: 0o755 })
  chmodSync(place, 0o755)
  return place
}

function program(name: string, content = script): string {
  const place = putFile(scene, name, content)
  chmodSync(place, 0o755)
  return place
}

interface Case {
  command: string
  allow: string[]
  ports?: Partial<RunnerPorts>
  cwd?: string
}

const run = ({ command, allow, ports = {}, cwd = '.' }: Case, more: JsonObject = {}) =>
  runTool(scene, { command, cwd, ...more }, { policy: { processAllowlist: allow }, ports })

describe('case 20: allowlist `git`, refused', () => {
  const cases: [name: string, make: () => Case, rule: string, place: () => string][] = [
    [
      './git under a writable root',
      () => ({ command: './git', allow: ['git'], cwd: 'out' }),
      'untrusted_program',
      () => program('out/git'),
    ],
    [
      'build/git under a writable root',
      () => ({ command: 'out/build/git', allow: ['git'] }),
      'untrusted_program',
      () => program('out/build/git'),
    ],
    [
      'an absolute path there',
      () => ({ command: path.join(scene.workspace, 'out/git'), allow: ['git'] }),
      'untrusted_program',
      () => program('out/git'),
    ],
    [
      'a path in the temporary directory of the job',
      () => ({
        command: trusted('git'),
        allow: ['git'],
        ports: { temporaryDirectories: [path.join(scene.directory, 'tools')] },
      }),
      'untrusted_program',
      () => trusted('git'),
    ],
    [
      'a directory that others may write',
      () => {
        const place = trusted('open/git')
        chmodSync(path.dirname(place), 0o777)
        return { command: place, allow: ['git'] }
      },
      'untrusted_program',
      () => path.join(scene.directory, 'tools/open/git'),
    ],
    [
      'a directory below one that others may write',
      () => {
        const place = trusted('open/below/git')
        chmodSync(path.join(scene.directory, 'tools/open'), 0o1777)
        return { command: place, allow: ['git'] }
      },
      'untrusted_program',
      () => path.join(scene.directory, 'tools/open/below/git'),
    ],
    [
      'a file that others may write',
      () => {
        const place = trusted('git')
        chmodSync(place, 0o757)
        return { command: place, allow: ['git'] }
      },
      'untrusted_program',
      () => trusted('git'),
    ],
    [
      'a link in the middle of the way',
      () => {
        program('out/real/git')
        mkdirSync(path.join(scene.directory, 'tools'), { recursive: true })
        symlinkSync(path.join(scene.workspace, 'out/real'), path.join(scene.directory, 'tools/link'))
        return { command: path.join(scene.directory, 'tools/link/git'), allow: ['git'] }
      },
      'untrusted_program',
      () => path.join(scene.workspace, 'out/real/git'),
    ],
    [
      'a chain of links of which one lies under a writable root',
      () => {
        trusted('real')
        program('out/keep')
        symlinkSync(path.join(scene.directory, 'tools/real'), path.join(scene.workspace, 'out/between'))
        symlinkSync(path.join(scene.workspace, 'out/between'), path.join(scene.directory, 'tools/git'))
        return { command: path.join(scene.directory, 'tools/git'), allow: ['git'] }
      },
      'untrusted_program',
      () => path.join(scene.directory, 'tools/real'),
    ],
    [
      '`git ` with a space',
      () => ({ command: trusted('git '), allow: ['git'] }),
      'processAllowlist',
      () => trusted('git '),
    ],
    ['`GIT`', () => ({ command: trusted('GIT'), allow: ['git'] }), 'processAllowlist', () => trusted('GIT')],
    ['`git.sh`', () => ({ command: trusted('git.sh'), allow: ['git'] }), 'processAllowlist', () => trusted('git.sh')],
    [
      'a name that differs by Unicode form',
      () => ({ command: trusted('gi\u0074\u0301'), allow: ['gi\u0074'] }),
      'processAllowlist',
      () => trusted('gi\u0074\u0301'),
    ],
  ]
  test.each(cases)('%s', async (_, make, rule, place) => {
    place()
    const outcome = await run(make())
    expect(outcome).toMatchObject({ state: 'denied', exitCode: 3 })
    const refusal = refusalOf(scene, outcome)
    expect(refusal.rule).toBe(rule)
    expect(refusal.remedy).toMatch(/spec\.policy\.processAllowlist/)
    // The remedy names what was found: the exact file, or the name as written.
    const named = rule === 'untrusted_program' ? place() : path.basename(place())
    expect(refusal.remedy).toContain(`\`${named}\``)
  })

  test('a path below /tmp, wherever the temporary directory of the job is', async () => {
    const directory = `/tmp/agentctl-program-${process.pid}`
    mkdirSync(directory, { mode: 0o700 })
    try {
      const command = path.join(directory, 'git')
      copyFileSync('/bin/true', command)
      chmodSync(command, 0o755)
      expect(refusalOf(scene, await run({ command, allow: ['git'] })).rule).toBe('untrusted_program')
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  test('a trailing slash names no program', async () => {
    expect(codeOf(await run({ command: `${trusted('git')}/`, allow: ['git'] }))).toBe('command_not_found')
  })
})

describe('case 20: elsewhere it runs, and the record names the real file', () => {
  test('a link `git` -> sh between trusted places', async () => {
    trusted('keep')
    symlinkSync('/bin/sh', path.join(scene.directory, 'tools/git'))
    const outcome = await run(
      { command: path.join(scene.directory, 'tools/git'), allow: ['git'] },
      { args: ['-c', 'echo "$0"'] },
    )
    expect(outcome.state).toBe('succeeded')
    expect(effectOf(scene, outcome)).toMatchObject({
      binding: { executable: { path: expect.stringMatching(/^\/(usr\/)?bin\/\w+$/) } },
      decision: { steps: expect.arrayContaining([expect.objectContaining({ rule: 'processAllowlist' })]) },
    })
  })

  test('./git beside the document, where the workspace is no writable root', async () => {
    const place = program('git')
    const outcome = await run({ command: './git', allow: ['git'] })
    expect(resultOf(outcome)).toMatchObject({ stdout: 'ran\n' })
    expect(effectOf(scene, outcome).binding).toMatchObject({ executable: { path: place } })
  })
})

describe('seed: Process allowlisting checks the executable basename', () => {
  test('an empty list allows nothing', async () => {
    expect(refusalOf(scene, await run({ command: '/bin/true', allow: [] })).rule).toBe('processAllowlist')
  })

  test('a relative command starts at the cwd of the action', async () => {
    program('one/tool', '#!/bin/sh\necho one\n')
    program('two/tool', '#!/bin/sh\necho two\n')
    for (const cwd of ['one', 'two'])
      expect(resultOf(await run({ command: './tool', allow: ['tool'], cwd }))).toMatchObject({ stdout: `${cwd}\n` })
  })

  test('an entry with a slash is the exact real path, wherever it lies, and no other spelling of it', async () => {
    const real = program('out/tool')
    symlinkSync('tool', path.join(scene.workspace, 'out/link'))
    expect(await run({ command: real, allow: [real] })).toMatchObject({ state: 'succeeded' })
    expect(await run({ command: './out/link', allow: [real] })).toMatchObject({ state: 'succeeded' })
    const link = path.join(scene.workspace, 'out/link')
    expect(refusalOf(scene, await run({ command: link, allow: [link] })).rule).toBe('processAllowlist')
  })

  test('bare names are looked for on the fixed path and the floor’s, never in the working directory', async () => {
    program('agentctl-probe')
    expect(codeOf(await run({ command: 'agentctl-probe', allow: ['agentctl-probe'] }))).toBe('command_not_found')
    trusted('agentctl-probe', '#!/bin/sh\necho trusted\n')
    const ports = { searchPath: [path.join(scene.directory, 'tools')] }
    const outcome = await run({ command: 'agentctl-probe', allow: ['agentctl-probe'], ports })
    expect(resultOf(outcome)).toMatchObject({ stdout: 'trusted\n' })
  })

  test('a directory of the search path is judged like any other place', async () => {
    program('out/bin/agentctl-probe')
    const ports = { searchPath: [path.join(scene.workspace, 'out/bin')] }
    const outcome = await run({ command: 'agentctl-probe', allow: ['agentctl-probe'], ports })
    expect(refusalOf(scene, outcome).rule).toBe('untrusted_program')
  })
})
