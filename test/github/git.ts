import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import type { Commit, GitIdentity } from './model.ts'

/** Real git objects, so that a commit's id is what git itself computes and a checkout is one that git can read. */

export type Files = ReadonlyMap<string, Uint8Array>

interface GitObject {
  sha: string
  /** `type length\0content`, as stored. */
  bytes: Buffer
}

const gitObject = (type: 'blob' | 'tree' | 'commit' | 'tag', content: Uint8Array): GitObject => {
  const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])
  return { sha: createHash('sha1').update(bytes).digest('hex'), bytes }
}

export const blobSha = (content: Uint8Array): string => gitObject('blob', content).sha

/** The id of an annotated tag on a commit. */
export const tagSha = (name: string, commit: string, at: Date): string =>
  gitObject(
    'tag',
    Buffer.from(
      `object ${commit}\ntype commit\ntag ${name}\ntagger double <double@example.com> ${Math.floor(at.getTime() / 1000)} +0000\n\n${name}\n`,
    ),
  ).sha

function tree(files: Files): { root: GitObject; objects: GitObject[] } {
  const objects: GitObject[] = []
  const write = (prefix: string): GitObject => {
    const entries = new Map<string, { mode: string; sha: string; order: string }>()
    for (const [path, content] of files) {
      if (!path.startsWith(prefix)) continue
      const [name = '', ...rest] = path.slice(prefix.length).split('/')
      if (entries.has(name)) continue
      if (rest.length > 0) entries.set(name, { mode: '40000', sha: write(`${prefix}${name}/`).sha, order: `${name}/` })
      else {
        const blob = gitObject('blob', content)
        objects.push(blob)
        entries.set(name, { mode: '100644', sha: blob.sha, order: name })
      }
    }
    const sorted = [...entries].sort(([, a], [, b]) => Buffer.compare(Buffer.from(a.order), Buffer.from(b.order)))
    const body = sorted.map(([name, { mode, sha }]) =>
      Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(sha, 'hex')]),
    )
    const result = gitObject('tree', Buffer.concat(body))
    objects.push(result)
    return result
  }
  return { root: write(''), objects }
}

const commitObject = (commit: Omit<Commit, 'sha'>): GitObject => {
  const seconds = Math.floor(commit.at.getTime() / 1000)
  const person = (who: GitIdentity) => `${who.name} <${who.email}> ${seconds} +0000`
  const lines = [
    `tree ${commit.tree}`,
    ...commit.parents.map(parent => `parent ${parent}`),
    `author ${person(commit.author)}`,
    `committer ${person(commit.committer)}`,
    '',
    commit.message,
  ]
  return gitObject('commit', Buffer.from(`${lines.join('\n')}\n`))
}

export function makeCommit(commit: Omit<Commit, 'sha' | 'tree'>): Commit {
  const complete = { ...commit, tree: tree(commit.files).root.sha }
  return { ...complete, sha: commitObject(complete).sha }
}

/**
 * Writes the commit as actions/checkout leaves it: real files, HEAD on the branch (detached for a pull request or tag), one loose object
 * per blob, tree and commit, and an index, so that `git status` is clean. Depth 1: parents are cut off by `.git/shallow`.
 */
export function checkout(commit: Commit, directory: string, branch: string | null, remote: string): void {
  for (const [path, content] of commit.files) {
    const target = join(directory, path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, content)
  }
  const git = join(directory, '.git')
  for (const part of ['objects', 'refs/heads', 'refs/tags']) mkdirSync(join(git, part), { recursive: true })
  for (const { sha, bytes } of [...tree(commit.files).objects, commitObject(commit)]) {
    mkdirSync(join(git, 'objects', sha.slice(0, 2)), { recursive: true })
    writeFileSync(join(git, 'objects', sha.slice(0, 2), sha.slice(2)), deflateSync(bytes, { level: 1 }))
  }
  if (branch === null) writeFileSync(join(git, 'HEAD'), `${commit.sha}\n`)
  else {
    writeFileSync(join(git, 'HEAD'), `ref: refs/heads/${branch}\n`)
    mkdirSync(dirname(join(git, 'refs/heads', branch)), { recursive: true })
    writeFileSync(join(git, 'refs/heads', branch), `${commit.sha}\n`)
  }
  if (commit.parents.length > 0) writeFileSync(join(git, 'shallow'), `${commit.sha}\n`)
  writeFileSync(
    join(git, 'config'),
    `[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote "origin"]\n\turl = ${remote}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`,
  )
  writeFileSync(join(git, 'index'), index(commit.files))
}

/** Index version 2 with zeroed stat data, which makes git compare contents. */
function index(files: Files): Buffer {
  const sorted = [...files].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const entries = sorted.map(([path, content]) => {
    const name = Buffer.from(path)
    const fixed = Buffer.alloc(62)
    fixed.writeUInt32BE(0o100644, 24)
    fixed.writeUInt32BE(content.length, 36)
    Buffer.from(blobSha(content), 'hex').copy(fixed, 40)
    fixed.writeUInt16BE(Math.min(name.length, 0xfff), 60)
    const length = Math.ceil((62 + name.length + 1) / 8) * 8
    return Buffer.concat([fixed, name, Buffer.alloc(length - 62 - name.length)])
  })
  const header = Buffer.alloc(12)
  header.write('DIRC')
  header.writeUInt32BE(2, 4)
  header.writeUInt32BE(entries.length, 8)
  const body = Buffer.concat([header, ...entries])
  return Buffer.concat([body, createHash('sha1').update(body).digest()])
}
