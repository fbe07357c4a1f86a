import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { scene as heading, indented, line } from './print.ts'

const root = path.resolve(import.meta.dirname, '../..')
const example = path.join(root, 'examples/container')
const run = promisify(execFile)

/** One step in a container, where an engine is here to run it; else it says what is missing. */
export async function containerStep(): Promise<void> {
  heading('A step in a container')
  const missing: string[] = []
  for (const engine of ['docker', 'podman']) {
    const image = await makeImage(engine)
    if ('missing' in image) {
      missing.push(`${engine}: ${image.missing}`)
      continue
    }
    try {
      await play(engine, image.id)
    } finally {
      await run(engine, ['rmi', '-f', image.id], { timeout: 30_000 })
    }
    return
  }
  line('not run, no engine can be used here:')
  indented(missing.join('\n'))
}

/** An image on an engine that runs it by its own command: one that cannot, as crun on hybrid cgroups, is none. */
async function makeImage(engine: string): Promise<{ id: string } | { missing: string }> {
  let id = ''
  try {
    const { stdout } = await run('sh', [path.join(example, 'image'), engine], { timeout: 30_000 })
    id = stdout.trim()
    // Podman's own limits are above what some hosts allow.
    const limits = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=1024:1024']
    await run(engine, ['run', '--rm', '--network=none', ...limits, id, '/bin/sha256sum', '/dev/null'], {
      timeout: 60_000,
    })
    return { id }
  } catch (error) {
    if (id !== '') await run(engine, ['rmi', '-f', id], { timeout: 30_000 })
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    return { missing: stderr === '' ? String(error) : (stderr.split('\n').at(-1) ?? stderr) }
  }
}

async function play(engine: string, image: string): Promise<void> {
  const directory = mkdtempSync(path.join(tmpdir(), 'agentctl-demo-'))
  try {
    const document = path.join(directory, 'checksum.yaml')
    const text = readFileSync(path.join(example, 'checksum.yaml'), 'utf8')
    writeFileSync(document, text.replace(/sha256:[0-9a-f]{64}/, image).replace('runtime: auto', `runtime: ${engine}`))
    const cli = path.join(root, 'dist/cli.js')
    const args = ['run', document, '--workspace', root, '--db', path.join(directory, 'ledger.db'), '--output', 'json']
    const { stdout } = await run(process.execPath, [cli, ...args], { timeout: 120_000 })
    const sum = createHash('sha256')
      .update(readFileSync(path.join(root, 'LICENSE')))
      .digest('hex')
    if (!stdout.includes(sum)) throw new Error(`the demo did not see the checksum from the container:\n${stdout}`)
    line(
      `sha256sum of LICENSE by ${engine}, in an image of nothing but busybox: no network, read-only, user 65532, 64 MiB, half a CPU`,
    )
    indented(`${sum}  LICENSE`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
