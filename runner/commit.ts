import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Commit } from '../policy/approval/record.ts'

/**
 * The commit that a workspace stands at: `sha` as GitHub named it (null in a terminal), `head` read from the checkout that
 * the workspace lies in, null outside one or before its first commit.
 */
export function readCommit(workspace: string, sha: string | null = null): Commit {
  const gitDirectory = findGitDirectory(path.resolve(workspace))
  return { sha, head: gitDirectory === null ? null : headOf(gitDirectory) }
}

function findGitDirectory(workspace: string): string | null {
  for (let current = workspace; ; current = path.dirname(current)) {
    const place = path.join(current, '.git')
    try {
      if (statSync(place).isDirectory()) return place
      const target = /^gitdir: (.+)$/m.exec(readFileSync(place, 'utf8'))?.[1]
      if (target !== undefined) return path.resolve(current, target.trim())
    } catch {
      // No checkout here: perhaps further up.
    }
    if (path.dirname(current) === current) return null
  }
}

function headOf(gitDirectory: string): string | null {
  const head = readText(path.join(gitDirectory, 'HEAD'))
  if (head === null) return null
  const reference = /^ref: (.+)$/.exec(head)?.[1]
  if (reference === undefined) return objectId(head)
  // Other ways of storing references leave this name in place of the true one; only git itself reads those.
  if (reference === 'refs/heads/.invalid') return headByGit(gitDirectory)
  const common = readText(path.join(gitDirectory, 'commondir'))
  const places = common === null ? [gitDirectory] : [gitDirectory, path.resolve(gitDirectory, common)]
  for (const place of places) {
    const found = objectId(readText(path.join(place, reference))) ?? packed(place, reference)
    if (found !== null) return found
  }
  return null
}

function packed(gitDirectory: string, reference: string): string | null {
  const line = readText(path.join(gitDirectory, 'packed-refs'))
    ?.split('\n')
    .find(entry => entry.endsWith(` ${reference}`))
  return objectId(line?.split(' ')[0] ?? null)
}

function objectId(text: string | null): string | null {
  return text !== null && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text) ? text : null
}

function headByGit(gitDirectory: string): string | null {
  try {
    const output = execFileSync('git', ['--git-dir', gitDirectory, 'rev-parse', '--verify', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 10_000,
    })
    return objectId(output.trim())
  } catch {
    return null
  }
}

function readText(place: string): string | null {
  try {
    return readFileSync(place, 'utf8').trim()
  } catch {
    return null
  }
}
