import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { policyDefaults } from '../../policy/decision/index.ts'
import { readAll, readFact } from '../../runner/facts/read-fact.ts'
import { replaceFile } from '../../runner/facts/replace-file.ts'
import { openWorkspace, type Workspace } from '../../runner/facts/workspace.ts'
import { closeWritePlace, writeFact } from '../../runner/facts/write-fact.ts'
import { createScene } from '../runner/support.ts'

/** What is swapped for a link that leads out, all the while: the directory of a file, or the file itself. */
export type Swapped = 'directory' | 'file'

/** Swaps one name for a link and back until its stdin closes; what the other side made afresh meanwhile is taken away. */
const racer = `
const fs = require('node:fs')
const [place, target] = process.argv.slice(1)
const aside = place + '.aside', link = place + '.link'
process.stdin.resume().on('end', () => process.exit(0))
const attempt = step => { try { step() } catch {} }
attempt(() => fs.symlinkSync(target, link))
process.stdout.write('ready')
const turn = () => {
  for (let i = 0; i < 50; i += 1) {
    attempt(() => fs.renameSync(place, aside))
    attempt(() => fs.renameSync(link, place))
    attempt(() => fs.renameSync(place, link))
    attempt(() => fs.renameSync(aside, place))
    // A write may have taken the link's place: it stands aside then, and the link is gone.
    if (fs.existsSync(aside)) { attempt(() => fs.rmSync(place, { recursive: true })); attempt(() => fs.renameSync(aside, place)) }
    attempt(() => { if (!fs.lstatSync(link).isSymbolicLink()) fs.rmSync(link, { recursive: true }) })
    attempt(() => fs.symlinkSync(target, link))
  }
  setImmediate(turn)
}
turn()
`

export interface RaceReport {
  /** Files outside that were made or changed, and reads that gave what stands outside: must be none. */
  outside: number
  done: number
  refused: number
}

/** Does it once by the path; `outside` where it gave what stands outside, null where it was refused. */
export type Attempt = (workspace: Workspace, file: string) => 'inside' | 'outside' | null

/** Attempts, and more until either side has won one: on a busy machine the other side may not have had its turn yet. */
const mostFactor = 100

/** Attempts on `out/dir/file` while its directory, or the file itself, is swapped for a link that leads out. */
export async function race(attempts: number, swapped: Swapped, attempt: Attempt): Promise<RaceReport> {
  const scene = createScene()
  const directory = path.join(scene.workspace, 'out/dir')
  const file = path.join(directory, 'file')
  const outside = path.join(scene.directory, 'outside')
  for (const place of [directory, outside]) mkdirSync(place, { recursive: true })
  writeFileSync(file, 'inside')
  writeFileSync(path.join(outside, 'file'), 'outside')
  const [place, target] = swapped === 'directory' ? [directory, outside] : [file, path.join(outside, 'file')]
  const child = spawn(process.execPath, ['-e', racer, place, target], { stdio: ['pipe', 'pipe', 'inherit'] })
  const policy = { ...policyDefaults, writableRoots: ['out'] }
  const workspace = openWorkspace({ workspace: scene.workspace, policy, protectedPaths: [], sourceFiles: [] })
  const report: RaceReport = { outside: 0, done: 0, refused: 0 }
  try {
    await once(child.stdout, 'data')
    const isOneSided = () => report.done === 0 || report.refused === 0
    for (let index = 0; index < attempts || (isOneSided() && index < attempts * mostFactor); index += 1) {
      const came = attempt(workspace, file)
      if (came === 'outside') report.outside += 1
      if (came === 'inside') report.done += 1
      if (came === null) report.refused += 1
      if (index % 500 === 499) await new Promise(resolve => setImmediate(resolve))
    }
    if (readFileSync(path.join(outside, 'file'), 'utf8') !== 'outside') report.outside += 1
    report.outside += readdirSync(outside).length - 1
    return report
  } finally {
    child.stdin.end()
    if (child.exitCode === null) await once(child, 'exit')
    scene.dispose()
  }
}

/** builtin.write's way: fact, then replacement. */
export const write: Attempt = (workspace, file) => {
  const { fact, place } = writeFact(workspace, file)
  if (place === null) return null
  try {
    if (!fact.known || fact.root === null) return null
    return replaceFile(place, Buffer.from('inside'), 0o644).kind === 'done' ? 'inside' : null
  } finally {
    closeWritePlace(place)
  }
}

/** builtin.read's way: fact, then its descriptor. */
export const read: Attempt = (workspace, requested) => {
  const { file } = readFact(workspace, requested)
  if (file === null) return null
  try {
    const bytes = readAll(file.fd, 100)
    if (bytes === null) return null
    return Buffer.from(bytes).toString() === 'outside' ? 'outside' : 'inside'
  } finally {
    closeSync(file.fd)
  }
}
