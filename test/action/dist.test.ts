import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Metafile } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundle, differences } from '../../build.ts'

/** What the bundle weighs and loads at start (00, Platform facts; 08, Speed). */
const startLimitBytes = 800_000
const distLimitBytes = 6_000_000

let first: string
let second: string
let metafile: Metafile

beforeAll(async () => {
  first = await mkdtemp(join(tmpdir(), 'agentctl-dist-'))
  second = await mkdtemp(join(tmpdir(), 'agentctl-dist-'))
  metafile = await bundle(first)
  await bundle(second)
})
afterAll(() => Promise.all([first, second].map(folder => rm(folder, { recursive: true }))))

/** An entry, what it then loads by name, and every file that their static imports load with them. */
function loadedAtStart(way: 'local' | 'attached' | null, entry = 'index'): string[] {
  const loaded = new Set<string>()
  const load = (path: string | undefined) => {
    if (path === undefined || loaded.has(path)) return
    loaded.add(path)
    for (const { kind, path: imported, external } of metafile.outputs[path]?.imports ?? [])
      if (kind === 'import-statement' && external !== true) load(imported)
  }
  const named = (pattern: RegExp) => Object.keys(metafile.outputs).find(path => pattern.test(basename(path)))
  load(named(new RegExp(`^${entry}\\.js$`)))
  if (entry === 'index') load(named(/^step-[A-Z0-9]+\.js$/))
  if (way !== null) load(named(new RegExp(`^${way}-[A-Z0-9]+\\.js$`)))
  return [...loaded]
}

/** Packages whose code is in these files. */
function packagesIn(paths: readonly string[]): string[] {
  const inputs = paths.flatMap(path => Object.entries(metafile.outputs[path]?.inputs ?? {}))
  const names = inputs.flatMap(([input, { bytesInOutput }]) => {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)
    return match === null || bytesInOutput === 0 ? [] : [match[1] ?? '']
  })
  return [...new Set(names)].sort()
}

const bytesOf = (paths: readonly string[]) => paths.reduce((sum, path) => sum + (metafile.outputs[path]?.bytes ?? 0), 0)

describe('the bundle', () => {
  test('is the same from build to build', async () => {
    expect(await differences(first, second)).toEqual([])
  })

  test.each(['local', 'attached'] as const)('what the Action loads to run (%s) is at most 0.8 MB', way => {
    const start = bytesOf(loadedAtStart(way))
    expect(start).toBeGreaterThan(100_000)
    expect(start).toBeLessThanOrEqual(startLimitBytes)
  })

  test('all of it is at most 6 MB', async () => {
    const sizes = await Promise.all(
      Object.keys(metafile.outputs).map(path => stat(join(import.meta.dirname, '../..', path))),
    )
    const total = sizes.reduce((sum, { size }) => sum + size, 0)
    expect(total).toBe(bytesOf(Object.keys(metafile.outputs)))
    expect(total).toBeLessThanOrEqual(distLimitBytes)
  })

  test('nothing but these packages is loaded at start: the network and GitHub come when they are needed', () => {
    expect(packagesIn(loadedAtStart('local'))).toEqual([
      '@actions/core',
      '@noble/hashes',
      'diff',
      'uuid',
      'yaml',
      'zod',
    ])
  })

  test('with a control plane no package more', () => {
    const local = packagesIn(loadedAtStart('local'))
    expect(packagesIn(loadedAtStart('attached')).filter(name => !local.includes(name))).toEqual([])
  })

  test('after a step that concluded the post step loads no package at all', () => {
    const loaded = loadedAtStart(null, 'post')
    expect(packagesIn(loaded)).toEqual([])
    expect(bytesOf(loaded)).toBeLessThan(10_000)
  })

  test('undici and octokit are in it, in chunks of their own', () => {
    const all = packagesIn(Object.keys(metafile.outputs))
    expect(all).toEqual(expect.arrayContaining(['undici', '@octokit/rest', '@octokit/core']))
    expect(all).not.toContain('@actions/http-client')
  })

  test('licences of what is bundled are kept beside it', () => {
    expect(Object.keys(metafile.outputs).some(path => path.endsWith('.LEGAL.txt'))).toBe(true)
  })
})

test('a missing, a left over and a changed file are each a difference', async () => {
  const other = await mkdtemp(join(tmpdir(), 'agentctl-dist-'))
  const { cp, rm: remove, writeFile, appendFile } = await import('node:fs/promises')
  try {
    await cp(first, other, { recursive: true })
    expect(await differences(other, first)).toEqual([])
    await remove(join(other, 'cli.js'))
    await writeFile(join(other, 'left-over.js'), '')
    await appendFile(join(other, 'index.js'), ' ')
    expect(await differences(other, first)).toEqual(['cli.js', 'index.js', 'left-over.js'])
  } finally {
    await rm(other, { recursive: true })
  }
})
