import { execFileSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readCommit } from '../../runner/index.ts'

let directory: string
beforeEach(() => {
  directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'agentctl-commit-')))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', '-C', ...args], {
    encoding: 'utf8',
    stdio: 'pipe',
  }).trim()

function repository(): string {
  const place = path.join(directory, 'repository')
  git(directory, 'init', '-q', place)
  git(place, 'commit', '-q', '--allow-empty', '-m', 'one')
  return place
}

test('outside a checkout, and before the first commit, there is no head', () => {
  expect(readCommit(directory)).toEqual({ sha: null, head: null })
  git(directory, 'init', '-q', directory)
  expect(readCommit(directory, 'a'.repeat(40))).toEqual({ sha: 'a'.repeat(40), head: null })
})

test.each<[string, (place: string) => string]>([
  ['a branch', place => place],
  ['a directory below', place => path.join(place, '.')],
  [
    'packed references',
    place => {
      git(place, 'pack-refs', '--all')
      return place
    },
  ],
  [
    'a detached head',
    place => {
      git(place, 'checkout', '-q', '--detach')
      return place
    },
  ],
  [
    'a worktree',
    place => {
      git(place, 'worktree', 'add', '-q', path.join(directory, 'tree'))
      return path.join(directory, 'tree')
    },
  ],
])('%s: what git says', (_, prepare) => {
  const place = prepare(repository())
  expect(readCommit(place).head).toBe(git(place, 'rev-parse', 'HEAD'))
})
