import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { documentPath, workflowPath } from '../harness/scene.ts'
import { counted, documentOf, gatedWrite, openStage, type Stage, withStep } from './stage.ts'

/** An approval holds for what was shown, at the commit where it was shown, in whatever workspace the job resumes (04). */
let stage: Stage
let directory: string
beforeAll(async () => {
  stage = await openStage()
  directory = mkdtempSync(join(tmpdir(), 'agentctl-binding-'))
})
afterAll(async () => {
  await stage.close()
  rmSync(directory, { recursive: true, force: true })
})

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const process = (action: JsonObject, allowed: string): JsonObject => ({
  policy: { writableRoots: ['out'], approval: 'mutations', processAllowlist: [allowed] },
  actions: { tool: { kind: 'builtin.shell.exec', ...action } },
  tasks: [{ id: 'gated', uses: 'action:tool' }],
})

describe('the binding changed between approval and resume: voided by name, asked again, then run once', () => {
  interface Change {
    spec: JsonObject
    files?: { [path: string]: string }
    /** Called before agentctl in each attempt; from the second on the world is another one. */
    before: (workspace: string, attempt: number) => void
    after: (read: (path: string) => string | null) => void
  }
  const changes: [code: string, make: () => Change][] = [
    [
      'replaced_file_changed',
      () => ({
        spec: gatedWrite,
        before: (workspace, attempt) => put(join(workspace, 'out/approved.txt'), attempt === 1 ? 'one\n' : 'another\n'),
        after: read => expect(read('out/approved.txt')).toBe('approved by a person'),
      }),
    ],
    [
      'argv_files_changed',
      () => ({
        spec: process({ command: '/bin/sh', args: ['tool.sh'], artifacts: ['out/**'] }, 'sh'),
        files: { 'tool.sh': 'mkdir -p out; echo first > out/ran\n' },
        before: (workspace, attempt) => {
          if (attempt > 1) writeFileSync(join(workspace, 'tool.sh'), 'mkdir -p out; echo second > out/ran\n')
        },
        after: read => expect(read('out/ran')).toBe('second\n'),
      }),
    ],
    [
      'executable_changed',
      () => {
        const tool = join(directory, 'tool')
        return {
          spec: process({ command: tool }, tool),
          before: (_, attempt) => {
            rmSync(tool, { force: true })
            copyFileSync(attempt === 1 ? '/bin/true' : '/bin/echo', tool)
            chmodSync(tool, 0o755)
          },
          after: () => {},
        }
      },
    ],
  ]
  test.each(changes)('%s', async (code, make) => {
    const change = make()
    const play = await stage.begin({
      spec: change.spec,
      ...(change.files && { files: change.files }),
      workflow: withStep(({ workspace, attempt }) => change.before(workspace, attempt)),
    })
    const first = await play.issue()
    const run = play.step().outputs['run-id']
    await play.decide('/approve')
    expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused', 'run-id': run } })
    expect(play.step().log).toContain(code)
    expect(counted(await play.events())).toMatchObject({ 'approval.voided': 1 })
    expect(counted(await play.events())).not.toHaveProperty('effect.started')

    const second = await play.issue(2)
    expect(second.body).toContain(code)
    expect(play.step().outputs['approval-issue-number']).toBe(String(second.number))
    await stage.scene.github.until(() => first.state === 'closed')
    await play.decide('/approve', second)
    expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded', 'run-id': run } })
    change.after(path => play.file(path))
    expect(counted(await play.events())).toMatchObject({ 'effect.started': 1, 'run.paused': 2 })
  })
})

describe('another commit or document: refused with both named, nothing runs', () => {
  const git = (workspace: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
      cwd: workspace,
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()

  test('HEAD of the workspace is another commit', async () => {
    let moved = ''
    let isMoved = true
    const play = await stage.begin({
      spec: gatedWrite,
      workflow: withStep(({ workspace, attempt }) => {
        if (attempt === 1 || !isMoved) return
        git(workspace, 'commit', '-q', '--allow-empty', '-m', 'sneaked in')
        moved = git(workspace, 'rev-parse', 'HEAD')
      }),
    })
    await play.decide('/approve')
    expect(play.step().exitCode).toBe(2)
    expect(play.step().log).toContain(play.handle.run.sha)
    expect(play.step().log).toContain(moved)
    expect(play.file('out/approved.txt')).toBeNull()
    expect(counted(await play.events())).not.toHaveProperty('effect.started')

    // The approval stands for the commit that it was given for.
    isMoved = false
    await play.again()
    expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
    expect(play.file('out/approved.txt')).toBe('approved by a person')
  })

  test('the document is another one', async () => {
    const play = await stage.begin({
      spec: gatedWrite,
      workflow: withStep(({ workspace, attempt }) => {
        if (attempt > 1) writeFileSync(join(workspace, documentPath), documentOf({ ...gatedWrite, vars: { more: 1 } }))
      }),
    })
    const digest = /"workflowDigest":"([0-9a-f]{64})"/
    const { body } = await play.ask(`/runs/${play.step().outputs['run-id']}/plan`)
    const [, planned = ''] = digest.exec(JSON.stringify(body)) ?? []
    await play.decide('/approve')
    expect(play.step().exitCode).toBe(2)
    const named = new Set(play.step().log.match(/\b[0-9a-f]{64}\b/g))
    expect(named).toContain(planned)
    expect(named.size).toBeGreaterThan(1)
    expect(play.file('out/approved.txt')).toBeNull()
    expect(counted(await play.events())).not.toHaveProperty('effect.started')
  })

  test('case 13: approved, then a push: the new run asks by itself, the old approval moves nothing of it', async () => {
    const { github } = stage.scene
    const play = await stage.begin({ spec: gatedWrite })
    const old = await play.issue()
    const changed = {
      ...gatedWrite,
      tasks: [{ id: 'gated', uses: 'action:write', with: { path: 'out/approved.txt', content: 'something else' } }],
    }
    play.repository.commit({ files: { [documentPath]: documentOf(changed) } })
    const newer = github.startRun(play.repository, workflowPath, { actor: 'alice', event: 'push' })
    await newer.completed()
    const fresh = await play.issue(2)
    await play.decide('/approve', old)
    // The old run goes on at its own commit, with what was shown there.
    expect(play.file('out/approved.txt')).toBe('approved by a person')
    expect(newer.run.attempts).toHaveLength(1)
    expect(fresh.state).toBe('open')
    github.runs.rerun(newer.run, github.users.ensure('alice'))
    await newer.completed()
    expect(newer.action()).toMatchObject({ exitCode: 3, outputs: { status: 'paused' } })
    // The newer run was named before the old one went on.
    expect(old.comments.map(({ body }) => body).join()).toContain(`/actions/runs/${newer.id}`)
  })
})

describe('files survive', () => {
  /** A free write, then two processes that wait, one after the other. */
  const chain: JsonObject = {
    policy: { writableRoots: ['out'], approval: 'high_risk', processAllowlist: ['sh'] },
    actions: {
      write: { kind: 'builtin.write' },
      copy: {
        kind: 'builtin.shell.exec',
        command: '/bin/sh',
        args: ['-c', 'cat out/first.txt > out/copy.txt; chmod 755 out/copy.txt'],
        artifacts: ['out/copy.txt'],
      },
      join: {
        kind: 'builtin.shell.exec',
        command: '/bin/sh',
        args: ['-c', 'cat out/first.txt out/copy.txt; ls -l out/copy.txt | cut -c1-10'],
      },
    },
    outputs: { joined: '${{ tasks.join.output.stdout }}' },
    tasks: [
      { id: 'first', uses: 'action:write', with: { path: 'out/first.txt', content: 'first ' } },
      { id: 'copy', uses: 'action:copy', needs: ['first'] },
      { id: 'join', uses: 'action:join', needs: ['copy'] },
    ],
  }

  test('every resume is in a new workspace, where what earlier attempts made is restored before anything runs', async () => {
    const play = await stage.begin({ spec: chain })
    const workspaces = [play.handle.job().workspace]
    const temps = [play.handle.job().temp]
    for (let decided = 1; play.step().outputs['status'] === 'paused' && decided < 4; decided++) {
      await play.decide('/approve all', play.issues().at(-1))
      workspaces.push(play.handle.job().workspace)
      temps.push(play.handle.job().temp)
    }
    expect(play.step()).toMatchObject({ exitCode: 0, outputs: { status: 'succeeded' } })
    expect(JSON.parse(play.step().outputs['outputs'] ?? '{}')).toEqual({ joined: 'first first -rwxr-xr-x\n' })
    expect(new Set(workspaces).size).toBe(workspaces.length)
    expect(new Set(temps).size).toBe(temps.length)
    expect(play.handle.action(undefined, 2).log).toContain('restored out/first.txt')
    expect(counted(await play.events())).toMatchObject({ 'effect.started': 3, 'effect.finished': 3 })
  })

  test('something else is at a restored path: workspace_diverged, exit 4, nothing overwritten and nothing run', async () => {
    let isInTheWay = true
    const play = await stage.begin({
      spec: chain,
      workflow: withStep(({ workspace, attempt }) => {
        if (attempt > 1 && isInTheWay) put(join(workspace, 'out/first.txt'), 'of an earlier step')
      }),
    })
    await play.decide('/approve all')
    expect(play.step().exitCode).toBe(4)
    expect(play.step().log).toContain('workspace_diverged')
    expect(play.step().log).toContain('out/first.txt')
    expect(play.file('out/first.txt')).toBe('of an earlier step')
    expect(play.file('out/copy.txt')).toBeNull()
    expect(counted(await play.events())).toMatchObject({ 'effect.started': 1 })
    isInTheWay = false
    await play.again()
    expect(play.file('out/first.txt')).toBe('first ')
    expect(play.step().outputs['status']).not.toBe('failed')
  })
})
