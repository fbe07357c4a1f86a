import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { policyDefaults } from '../../policy/decision/index.ts'
import { openWorkspace } from '../../runner/facts/workspace.ts'
import { readSecretFile } from '../../runner/secrets/file.ts'
import { createScene } from '../runner/support.ts'

/** Swaps a directory and a file for links that lead out, and back, until its stdin closes. */
const racer = `
const fs = require('node:fs')
const [directory, file, outside] = process.argv.slice(1)
process.stdin.resume().on('end', () => process.exit(0))
process.stdout.write('ready')
const attempt = step => { try { step() } catch {} }
const turn = () => {
  for (let i = 0; i < 50; i += 1) {
    attempt(() => fs.renameSync(directory, directory + '.aside'))
    attempt(() => fs.symlinkSync(outside, directory))
    attempt(() => fs.unlinkSync(directory))
    attempt(() => fs.renameSync(directory + '.aside', directory))
    attempt(() => fs.symlinkSync(outside + '/token', file + '.link'))
    attempt(() => fs.renameSync(file, file + '.aside'))
    attempt(() => fs.renameSync(file + '.link', file))
    attempt(() => fs.renameSync(file + '.aside', file))
  }
  setImmediate(turn)
}
turn()
`

/** How reads of a secret file ended while it and its directory were swapped for links that lead out all the while. */
export interface RaceReport {
  /** Values from outside the root: must be none. */
  outside: number
  read: number
  /** By the cause that was told. */
  refused: { [cause: string]: number }
}

type Read = (place: string) => string | null

export async function race(reads: number, reader?: Read): Promise<RaceReport> {
  const scene = createScene()
  const directory = path.join(scene.workspace, 'secrets/inner')
  const outside = path.join(scene.directory, 'outside')
  for (const place of [directory, outside]) mkdirSync(place, { recursive: true })
  writeFileSync(path.join(directory, 'token'), 'value-inside')
  writeFileSync(path.join(outside, 'token'), 'value-outside')
  const child = spawn(process.execPath, ['-e', racer, directory, path.join(directory, 'token'), outside], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const report: RaceReport = { outside: 0, read: 0, refused: {} }
  const policy = { ...policyDefaults, secretFileRoots: ['secrets'] }
  const workspace = openWorkspace({ workspace: scene.workspace, policy, protectedPaths: [], sourceFiles: [] })
  const ours: Read = () => {
    const { fact, value } = readSecretFile(workspace, 'secrets/inner/token')
    const cause = fact.fault?.cause ?? (fact.root === null ? 'secretFileRoots' : '')
    if (value === null) report.refused[cause] = (report.refused[cause] ?? 0) + 1
    return value
  }
  try {
    await once(child.stdout, 'data')
    for (let index = 0; index < reads; index += 1) {
      const value = (reader ?? ours)(path.join(directory, 'token'))
      if (value === 'value-outside') report.outside += 1
      else if (value !== null) report.read += 1
      if (index % 500 === 499) await new Promise(resolve => setImmediate(resolve))
    }
    return report
  } finally {
    child.stdin.end()
    if (child.exitCode === null) await once(child, 'exit')
    scene.dispose()
  }
}
