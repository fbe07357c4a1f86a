import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { policyDefaults } from '../../policy/decision/index.ts'
import type { Policy } from '../../policy/decision/policy.ts'
import { protectedBy } from '../../runner/facts/protected.ts'
import { readAll, readFact } from '../../runner/facts/read-fact.ts'
import { replaceFile } from '../../runner/facts/replace-file.ts'
import { openWorkspace, type Workspace } from '../../runner/facts/workspace.ts'
import { closeWritePlace, writeFact } from '../../runner/facts/write-fact.ts'
import { createScene, freely, getFile, planOf, putFile, resume, type Scene, start, write } from './support.ts'

let scene: Scene
beforeEach(() => {
  scene = createScene()
})
afterEach(() => scene.dispose())

function workspaceWith(policy: Partial<Policy> = {}, protectedPaths: string[] = []): Workspace {
  return openWorkspace({
    workspace: scene.workspace,
    policy: { ...policyDefaults, writableRoots: ['out'], ...policy },
    protectedPaths,
    sourceFiles: [],
  })
}

/** The refusal of a write, its root and protection, without leaving anything open. */
function judgeWrite(workspace: Workspace, requested: string) {
  const { fact, place } = writeFact(workspace, requested)
  if (place !== null) closeWritePlace(place)
  return fact.known ? { root: fact.root, protectedBy: fact.protectedBy, path: fact.path } : { cause: fact.cause }
}

function judgeRead(workspace: Workspace, requested: string) {
  const { fact, file } = readFact(workspace, requested)
  if (file === null) return fact.known ? {} : { cause: fact.cause }
  const bytes = readAll(file.fd, 1_000)
  return { path: file.fact.path, text: Buffer.from(bytes ?? []).toString() }
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length
}

describe('reads', () => {
  beforeEach(() => {
    putFile(scene, 'a.txt', 'a')
    putFile(scene, 'deep/b.txt', 'b')
    writeFileSync(path.join(scene.directory, 'outside.txt'), 'outside')
    symlinkSync('deep', path.join(scene.workspace, 'inside-link'))
    symlinkSync('a.txt', path.join(scene.workspace, 'file-link'))
    symlinkSync('../outside.txt', path.join(scene.workspace, 'escape'))
    symlinkSync('..', path.join(scene.workspace, 'escape-directory'))
    symlinkSync('nowhere', path.join(scene.workspace, 'dangling'))
    symlinkSync('loop', path.join(scene.workspace, 'loop'))
    symlinkSync('/proc/self/cwd', path.join(scene.workspace, 'proc'))
    execFileSync('mkfifo', [path.join(scene.workspace, 'fifo')])
  })
  test.each([
    ['a.txt', { path: 'a.txt', text: 'a' }],
    ['./deep//b.txt', { path: 'deep/b.txt', text: 'b' }],
    ['inside-link/b.txt', { path: 'deep/b.txt', text: 'b' }],
    ['file-link', { path: 'a.txt', text: 'a' }],
    ['', { cause: 'empty_path' }],
    ['a\0.txt', { cause: 'nul_byte' }],
    ['../outside.txt', { cause: 'parent_traversal' }],
    ['deep/../a.txt', { cause: 'parent_traversal' }],
    ['escape', { cause: 'symlink_escape' }],
    ['escape-directory/outside.txt', { cause: 'symlink_escape' }],
    ['/etc/passwd', { cause: 'symlink_escape' }],
    ['/proc/self/environ', { cause: 'symlink_escape' }],
    ['proc/package.json', { cause: 'symlink_escape' }],
    ['dangling', { cause: 'not_found' }],
    ['absent', { cause: 'not_found' }],
    ['loop', { cause: 'symlink_loop' }],
    ['fifo', { cause: 'not_regular' }],
    ['deep', { cause: 'is_directory' }],
    ['a.txt/b', { cause: 'not_directory' }],
    [`${'x'.repeat(300)}`, { cause: 'name_too_long' }],
    ['~/a.txt', { cause: 'not_found' }],
  ])('%j', (requested, expected) => {
    const before = openDescriptors()
    const judged = judgeRead(workspaceWith(), requested)
    expect(judged).toMatchObject(expected)
    // A file that was opened is still open: its reader closes it.
    expect(openDescriptors() - before).toBe('text' in expected ? 1 : 0)
  })

  test('an absolute path inside the workspace is the same file', () => {
    expect(judgeRead(workspaceWith(), path.join(scene.workspace, 'a.txt'))).toMatchObject({ path: 'a.txt' })
  })
})

describe('writes', () => {
  beforeEach(() => {
    putFile(scene, 'out/old', 'old')
    mkdirSync(path.join(scene.directory, 'elsewhere'))
    symlinkSync(path.join(scene.directory, 'elsewhere'), path.join(scene.workspace, 'out/escape'))
    symlinkSync('nowhere', path.join(scene.workspace, 'out/dangling'))
    symlinkSync('old', path.join(scene.workspace, 'out/link'))
    symlinkSync('/etc/passwd', path.join(scene.workspace, 'out/passwd'))
    symlinkSync('out', path.join(scene.workspace, 'alias'))
    execFileSync('mkfifo', [path.join(scene.workspace, 'out/fifo')])
    putFile(scene, 'out/caf\u00e9', 'composed')
  })
  const here = { root: 'out', protectedBy: null }
  test.each([
    ['out/new', { ...here, path: 'out/new' }],
    ['out/old', { ...here, path: 'out/old' }],
    ['out/a/b/c', { ...here, path: 'out/a/b/c' }],
    ['alias/new', { ...here, path: 'out/new' }],
    ['out/link', { ...here, path: 'out/old' }],
    ['elsewhere/x', { root: null }],
    ['outside', { root: null }],
    ['out2/x', { root: null }],
    ['out/escape/x', { root: null }],
    ['out/passwd', { root: null }],
    ['/etc/cron.d/x', { root: null }],
    ['out/dangling', { cause: 'dangling_symlink' }],
    ['out/dangling/x', { cause: 'dangling_symlink' }],
    ['out/../x', { cause: 'parent_traversal' }],
    ['out/x\0y', { cause: 'nul_byte' }],
    ['out/', { cause: 'is_directory' }],
    ['out', { cause: 'is_directory' }],
    ['out/old/x', { cause: 'not_directory' }],
    ['out/fifo', { cause: 'not_regular' }],
    ['out/cafe\u0301', { cause: 'unicode_form' }],
    ['out/caf\u00e9', { ...here, path: 'out/caf\u00e9' }],
  ])('%j', (requested, expected) => {
    const before = openDescriptors()
    expect(judgeWrite(workspaceWith(), requested)).toMatchObject(expected)
    expect(openDescriptors()).toBe(before)
  })

  test.each([
    ['a root that does not exist yet', ['fresh/root'], 'fresh/root/x', { root: 'fresh/root' }],
    ['a root that names a file', ['out/old'], 'out/old/x', { cause: 'not_directory' }],
    ['the file that a root names', ['out/old'], 'out/old', { cause: 'root_not_directory' }],
    ['`~` is not expanded', ['~'], '~/x', { cause: 'tilde' }],
    ['`~/x` is not expanded', ['~/x'], '~/x/y', { cause: 'tilde' }],
    ['a root with `..`', ['../elsewhere'], 'out/x', { root: null }],
    ['a relative root that a link leads out', ['out/escape'], 'out/escape/x', { cause: 'symlink_escape' }],
    ['no root at all', [], 'out/x', { root: null }],
    ['the workspace itself', ['.'], 'x', { root: '.' }],
  ])('roots: %s', (_, writableRoots, requested, expected) => {
    expect(judgeWrite(workspaceWith({ writableRoots }), requested)).toMatchObject(expected)
  })

  test('an explicit absolute root lies where it says', () => {
    const root = path.join(scene.directory, 'elsewhere')
    const workspace = workspaceWith({ writableRoots: [root] })
    expect(judgeWrite(workspace, path.join(root, 'x'))).toMatchObject({
      root,
      path: path.join(realpathSync(root), 'x'),
    })
    expect(judgeWrite(workspace, 'out/escape/x')).toMatchObject({ root })
  })

  test('a workspace root that leads out or is no directory is refused by name', () => {
    symlinkSync('..', path.join(scene.workspace, 'up'))
    expect(() => workspaceWith({ workspaceRoot: 'up' })).toThrow(/leads out of the workspace/)
    expect(() => workspaceWith({ workspaceRoot: 'out/old' })).toThrow(/not a directory/)
    expect(() => workspaceWith({ workspaceRoot: 'absent' })).toThrow(/does not exist/)
    expect(() => workspaceWith({ workspaceRoot: '../x' })).toThrow(/`\.\.` component/)
  })
})

describe('never writable', () => {
  const names = [
    '.git/config',
    '.git',
    'sub/.git/hooks/x',
    '.GIT/x',
    '.Git',
    '.g\u200cit/config',
    '.git./x',
    '.git /x',
    'git~1/x',
    '\uff0egit/x',
    '.agentctl/runtime.db',
    '.AGENTCTL/x',
    'a/.mcp.json',
    '.github/workflows/ci.yaml',
    '.github/WORKFLOWS/x',
    '.github/agentctl/floor.yaml',
    'ledger.db',
    'ledger.db-wal',
    'ledger.db-shm',
    'LEDGER.db',
    'workflow.yaml',
  ]
  test.each(names)('%j', name => {
    const place = (file: string) => path.join(scene.workspace, file)
    const workspace = workspaceWith({ writableRoots: ['.'] }, [place('ledger.db'), place('workflow.yaml')])
    const judged = judgeWrite(workspace, name)
    expect(judged).not.toMatchObject({ protectedBy: null })
  })

  test.each([
    '.gitignore',
    '.github/dependabot.yml',
    'git/x',
    'github/workflows/x',
    'my.git/x',
    '.agentctl2/x',
    'ledger.db2',
  ])('%j is an ordinary name', name => {
    const workspace = workspaceWith({ writableRoots: ['.'] }, [path.join(scene.workspace, 'ledger.db')])
    expect(judgeWrite(workspace, name)).toMatchObject({ root: '.', protectedBy: null })
  })

  test('`.git/hooks` as a link: its target is protected under its own name too', () => {
    putFile(scene, 'hooks/pre-commit', '')
    mkdirSync(path.join(scene.workspace, '.git'))
    symlinkSync('../hooks', path.join(scene.workspace, '.git/hooks'))
    const workspace = workspaceWith({ writableRoots: ['.'] })
    expect(judgeWrite(workspace, 'hooks/post-checkout')).toMatchObject({ protectedBy: '.git' })
    expect(judgeWrite(workspace, '.git/hooks/post-checkout')).toMatchObject({ protectedBy: '.git' })
  })

  test.each([
    ['.mcp.json', 'conf/mcp.json', 'conf/mcp.json', '.mcp.json'],
    ['.agentctl', 'state', 'state/flow.yaml', '.agentctl'],
    ['.git', 'link/store', 'kept/store/hooks/post-checkout', '.git'],
    ['.github', 'gh', 'gh/workflows/ci.yml', '.github/workflows'],
  ])('%s as a link to %s, which is not there yet: a write of %s would make it whole', (link, target, name, rule) => {
    mkdirSync(path.join(scene.workspace, 'kept'))
    symlinkSync('kept', path.join(scene.workspace, 'link'))
    symlinkSync(target, path.join(scene.workspace, link))
    expect(judgeWrite(workspaceWith({ writableRoots: ['.'] }), name)).toMatchObject({ protectedBy: rule })
  })

  test('a well-known name that links to itself protects its own name and harms nothing else', () => {
    symlinkSync('.mcp.json', path.join(scene.workspace, '.mcp.json'))
    const workspace = workspaceWith({ writableRoots: ['.'] })
    expect(judgeWrite(workspace, 'a/.mcp.json')).toMatchObject({ protectedBy: '.mcp.json' })
    expect(judgeWrite(workspace, 'x.txt')).toMatchObject({ root: '.', protectedBy: null })
  })

  test("the host's floor, under whatever root", () => {
    const workspace = workspaceWith({ writableRoots: ['/etc'] })
    expect(judgeWrite(workspace, '/etc/agentctl/floor.yaml')).toMatchObject({ protectedBy: 'protected_file' })
  })

  test("a worktree's `.git` file: the repository that it names is protected", () => {
    putFile(scene, '.git', 'gitdir: real-repository\n')
    const workspace = workspaceWith({ writableRoots: ['.'] })
    expect(judgeWrite(workspace, 'real-repository/config')).toMatchObject({ protectedBy: '.git' })
  })

  test('a workspace below a `.agentctl` directory has ordinary files', () => {
    const protection = { places: [], roots: ['/home/me/.agentctl/work'] }
    expect(protectedBy(protection, '/home/me/.agentctl/work/x')).toBeNull()
    expect(protectedBy(protection, '/home/me/.agentctl/work/.agentctl/x')).toBe('.agentctl')
    expect(protectedBy(protection, '/home/me/.agentctl/x')).toBe('.agentctl')
  })

  test('property: no spelling of a protected name by case and hidden characters passes', () => {
    const hidden = fc.constantFrom('', '\u200b', '\u200d', '\ufeff', '\u2060')
    const spelling = fc
      .constantFrom('.git', '.agentctl', '.mcp.json')
      .chain(name =>
        fc.tuple(
          ...[...name].map(letter =>
            fc.tuple(fc.boolean(), hidden).map(([upper, mark]) => (upper ? letter.toUpperCase() : letter) + mark),
          ),
        ),
      )
    fc.assert(
      fc.property(spelling, letters => {
        expect(protectedBy({ places: [], roots: [] }, `/w/${letters.join('')}/x`)).not.toBeNull()
      }),
    )
  })
})

describe('replacing a file', () => {
  test('keeps the mode of what it replaces, leaves no temporary file, and breaks no hard link', async () => {
    putFile(scene, 'out/tool', 'old', 0o755)
    linkSync(path.join(scene.workspace, 'out/tool'), path.join(scene.workspace, 'linked'))
    const plan = planOf({
      policy: freely,
      actions: { write },
      tasks: [
        { id: 'a', uses: 'action:write', with: { path: 'out/tool', content: 'new' } },
        { id: 'b', uses: 'action:write', with: { path: 'out/fresh', content: 'fresh' } },
      ],
    })
    expect(await start(scene, plan)).toMatchObject({ state: 'succeeded' })
    const modeOf = (name: string) => statSync(path.join(scene.workspace, name)).mode & 0o777
    expect([modeOf('out/tool'), modeOf('out/fresh')]).toEqual([0o755, 0o644])
    expect([getFile(scene, 'out/tool'), getFile(scene, 'linked')]).toEqual(['new', 'old'])
    expect(readdirSync(path.join(scene.workspace, 'out')).sort()).toEqual(['fresh', 'tool'])
  })

  test.each<[string, () => void]>([
    [
      'replaced by another file',
      () => {
        rmSync(path.join(scene.workspace, 'out/old'))
        putFile(scene, 'out/old', 'other')
      },
    ],
    ['written in place', () => writeFileSync(path.join(scene.workspace, 'out/old'), 'other!')],
    ['removed', () => rmSync(path.join(scene.workspace, 'out/old'))],
    [
      'its directory replaced',
      () => {
        rmSync(path.join(scene.workspace, 'out'), { recursive: true })
        putFile(scene, 'out/old', 'old')
      },
    ],
  ])('a file %s since it was checked is left alone', (_, change) => {
    putFile(scene, 'out/old', 'old')
    const { place } = writeFact(workspaceWith(), 'out/old')
    if (place === null) throw new Error('no place')
    change()
    const now = getFile(scene, 'out/old')
    expect(replaceFile(place, Buffer.from('ours'), 0o644)).toMatchObject({
      kind: 'failed',
      code: 'replaced_file_changed',
    })
    closeWritePlace(place)
    expect(getFile(scene, 'out/old')).toBe(now)
  })

  test('a file that appears where there was none is left alone', () => {
    putFile(scene, 'out/keep', '')
    const { place } = writeFact(workspaceWith(), 'out/new')
    if (place === null) throw new Error('no place')
    putFile(scene, 'out/new', 'theirs')
    expect(replaceFile(place, Buffer.from('ours'), 0o644)).toMatchObject({
      kind: 'failed',
      code: 'replaced_file_changed',
    })
    closeWritePlace(place)
    expect(getFile(scene, 'out/new')).toBe('theirs')
  })
})

test('a run whose workspace root is missing ends in preflight: exit 2, nothing recorded', async () => {
  const plan = planOf({
    policy: { ...freely, workspaceRoot: 'absent' },
    actions: { write },
    tasks: [{ id: 'a', uses: 'action:write', with: { path: 'x', content: 'x' } }],
  })
  const outcome = await start(scene, plan)
  expect(outcome).toMatchObject({ exitCode: 2 })
  expect(outcome.messages[0]).toContain('policy.workspaceRoot')
  expect(scene.ledger.store.record(outcome.run)).toBeNull()
  await expect(resume(scene, outcome.run)).rejects.toThrow(/no run/)
})
