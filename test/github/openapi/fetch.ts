import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Description, extract } from './extract.ts'
import { operations, webhookPayloads } from './operations.ts'

/** Pinned: the descriptions that the double is held to. Newer ones are a deliberate change here. */
const OPENAPI = { package: '@octokit/openapi@23.0.2', member: 'package/generated/api.github.com.json' }
const GRAPHQL = { package: '@octokit/graphql-schema@15.26.1', member: 'package/schema.graphql' }

const cache = resolve(import.meta.dirname, '../../../node_modules/.cache/agentctl-github')
const run = promisify(execFile)

/** GitHub's OpenAPI description, cut to what the double imitates (the whole is 13 MB). */
export async function loadDescription(): Promise<Description> {
  const code = readFileSync(join(import.meta.dirname, 'extract.ts'), 'utf8')
  const text = await derived(OPENAPI, JSON.stringify([operations, webhookPayloads, code]), whole =>
    JSON.stringify(extract(JSON.parse(whole))),
  )
  return JSON.parse(text) as Description
}

/** GitHub's GraphQL schema, cut by `cut` (the whole is 1.2 MB); `key` names the cut. */
export const loadGraphqlSchema = (key: string, cut: (sdl: string) => string): Promise<string> =>
  derived(GRAPHQL, key, cut)

/**
 * A text made from one file of a package. The package is fetched once with `npm pack` into node_modules/.cache and only that file is
 * kept (@octokit/openapi is 385 MB unpacked); what is made of it is kept too, by key.
 */
async function derived(
  source: { package: string; member: string },
  key: string,
  make: (whole: string) => string,
): Promise<string> {
  const digest = createHash('sha256')
    .update(JSON.stringify([source, key]))
    .digest('hex')
    .slice(0, 16)
  const file = join(cache, `derived-${digest}`)
  if (!existsSync(file)) {
    await locked(async () => {
      if (existsSync(file)) return
      const whole = join(cache, source.package.replaceAll(/[^\w.-]/g, '_'))
      if (!existsSync(whole)) await download(source, whole)
      writeFileSync(`${file}.new`, make(readFileSync(whole, 'utf8')))
      renameSync(`${file}.new`, file)
    })
  }
  return readFileSync(file, 'utf8')
}

async function download(source: { package: string; member: string }, target: string): Promise<void> {
  const directory = mkdtempSync(join(cache, 'pack-'))
  try {
    const npm = process.env['npm_execpath']
    const [command, first] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []]
    await run(
      command,
      [...first, 'pack', source.package, '--pack-destination', directory, '--silent', '--ignore-scripts'],
      { cwd: directory },
    )
    const archive = join(directory, `${source.package.slice(1).replace('/', '-').replace('@', '-')}.tgz`)
    await run('tar', ['-xzf', archive, '-C', directory, source.member])
    renameSync(join(directory, source.member), target)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** One process at a time, by a file that names its holder; a dead holder's is taken over. */
async function locked(work: () => Promise<void>): Promise<void> {
  mkdirSync(cache, { recursive: true })
  const lock = join(cache, 'lock')
  while (!tryLock(lock)) {
    if (holderIsGone(lock)) rmSync(lock, { force: true })
    else await delay(50)
  }
  try {
    await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

function tryLock(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function holderIsGone(lock: string): boolean {
  try {
    const pid = Number(readFileSync(lock, 'utf8'))
    // Created but not yet written: its holder is alive.
    if (pid === 0) return false
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
