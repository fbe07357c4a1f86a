import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { policyDefaults } from '../../policy/decision/index.ts'
import { replaceFile } from '../../runner/facts/replace-file.ts'
import { openWorkspace } from '../../runner/facts/workspace.ts'
import { closeWritePlace, writeFact } from '../../runner/facts/write-fact.ts'
import { createScene } from './support.ts'

/** Swaps a directory for a link that leads out and back, as fast as it can, until its stdin closes. */
const racer = `
const fs = require('node:fs')
const [directory, aside, outside] = process.argv.slice(1)
process.stdin.resume().on('end', () => process.exit(0))
process.stdout.write('ready')
// The writer may make the directory afresh at any moment: each step then fails, and the next round begins with what stands.
const attempt = step => { try { step() } catch {} }
const turn = () => {
  for (let i = 0; i < 50; i += 1) {
    attempt(() => fs.renameSync(directory, aside))
    attempt(() => fs.symlinkSync(outside, directory))
    attempt(() => fs.unlinkSync(directory))
    attempt(() => fs.renameSync(aside, directory))
    if (fs.existsSync(aside)) attempt(() => fs.rmSync(directory, { recursive: true }))
  }
  setImmediate(turn)
}
turn()
`

export interface RaceReport {
  /** Files found outside the writable root: must be none. */
  outside: number
  done: number
  refused: number
}

type Writer = (directory: string, name: string) => boolean

/** Writes many files below a directory that is swapped for a link all the while. */
export async function race(writes: number, writer?: Writer): Promise<RaceReport> {
  const scene = createScene()
  const directory = path.join(scene.workspace, 'out/dir')
  const outside = path.join(scene.directory, 'outside')
  mkdirSync(directory, { recursive: true })
  mkdirSync(outside)
  const child = spawn(process.execPath, ['-e', racer, directory, path.join(scene.workspace, 'out/aside'), outside], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    await once(child.stdout, 'data')
    const write = writer ?? ours(scene.workspace)
    let done = 0
    for (let index = 0; index < writes; index += 1) {
      if (write(directory, `file-${index}`)) done += 1
      // Lets the test's own timers and the child's exit be seen.
      if (index % 500 === 499) await new Promise(resolve => setImmediate(resolve))
    }
    return { outside: readdirSync(outside).length, done, refused: writes - done }
  } finally {
    await end(child)
    scene.dispose()
  }
}

async function end(child: ChildProcess): Promise<void> {
  child.stdin?.end()
  if (child.exitCode === null) await once(child, 'exit')
}

function ours(workspacePath: string): Writer {
  const workspace = openWorkspace({
    workspace: workspacePath,
    policy: { ...policyDefaults, writableRoots: ['out'] },
    protectedPaths: [],
    sourceFiles: [],
  })
  return (directory, name) => {
    const { fact, place } = writeFact(workspace, path.join(directory, name))
    if (place === null || !fact.known || fact.root === null) {
      if (place !== null) closeWritePlace(place)
      return false
    }
    const replaced = replaceFile(place, Buffer.from('ours'), 0o644)
    closeWritePlace(place)
    return replaced.kind === 'done'
  }
}

/** What the walk is measured against: write by the path, then verify where it led. */
export const writeThenVerify: Writer = (directory, name) => {
  try {
    writeFileSync(path.join(directory, name), 'naive')
    return realpathSync(directory) === directory
  } catch {
    return false
  }
}
