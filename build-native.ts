import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'

const root = import.meta.dirname
const run = promisify(execFile)

/** Systems that agentctl's native layer is shipped for. Of each package only the glibc binary is taken. */
const targets = ['linux-x64', 'linux-arm64'] as const

const lockSchema = z.object({
  packages: z.record(z.string(), z.object({ version: z.string().optional(), integrity: z.string().optional() })),
})

/** Puts koffi's binaries and its licence into `<outdir>/native`, where runner/native looks for them. */
export async function addNative(outdir: string): Promise<void> {
  for (const target of targets) {
    const folder = join(outdir, 'native', target)
    await mkdir(folder, { recursive: true })
    const binary = join(folder, 'koffi.node')
    await copyFile(await binaryOf(target), binary)
    await chmod(binary, 0o644)
  }
  await copyFile(join(root, 'node_modules/koffi/LICENSE.txt'), join(outdir, 'native/LICENSE.txt'))
}

/** The package of this machine is installed; the other's is fetched once, its bytes checked against the lockfile. */
async function binaryOf(target: (typeof targets)[number]): Promise<string> {
  const name = `@koromix/koffi-${target}`
  const inside = join(target.replace('-', '_'), 'koffi.node')
  if (target === `${process.platform}-${process.arch}`) return join(root, 'node_modules', name, inside)
  const { packages } = lockSchema.parse(JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')))
  const { version, integrity } = packages[`node_modules/${name}`] ?? {}
  if (version === undefined || integrity === undefined) throw new Error(`package-lock.json does not name ${name}`)
  const cache = join(root, 'node_modules/.cache/agentctl-native')
  const kept = join(cache, `${target}-${version}.node`)
  await mkdir(cache, { recursive: true })
  if (await isThere(kept)) return kept
  const folder = await mkdtemp(join(cache, 'fetch-'))
  try {
    await fetchPackage(`${name}@${version}`, integrity, folder)
    await rename(join(folder, 'package', inside), kept)
    return kept
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function fetchPackage(spec: string, integrity: string, folder: string): Promise<void> {
  const { stdout } = await run('npm', ['pack', spec, '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
  })
  const [{ filename }] = z.tuple([z.object({ filename: z.string() })]).parse(JSON.parse(stdout))
  const archive = join(folder, filename)
  const digest = `sha512-${createHash('sha512')
    .update(await readFile(archive))
    .digest('base64')}`
  if (digest !== integrity)
    throw new Error(`${spec}: what was fetched is ${digest}, package-lock.json has ${integrity}`)
  await run('tar', ['-xzf', archive, '-C', folder])
}

async function isThere(place: string): Promise<boolean> {
  return readFile(place).then(
    () => true,
    () => false,
  )
}
