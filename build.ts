import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { build, type Metafile, type Plugin } from 'esbuild'
import { addNative } from './build-native.ts'
import { staleSchemas, writeSchemas } from './build-schemas.ts'

/**
 * Builds dist/, which is committed, since `uses: org/agentctl@v1` runs the tree as it stands, and schemas/. With
 * `--check` it builds into a temporary directory and fails on any difference.
 */
const root = import.meta.dirname

/** Modules of packages that agentctl never calls, each with what stands in its place. */
const absent: { filter: RegExp; of: RegExp; contents: string }[] = [
  // The OIDC client brings an HTTP client with an undici of its own; own calls go through runner/network/own.ts.
  { filter: /^\.\/oidc-utils\.js$/, of: /\/@actions\/core\//, contents: 'export class OidcClient {}' },
  // It asks the system about itself through @actions/exec, which would be loaded at start for nothing.
  { filter: /^\.\/platform\.js$/, of: /\/@actions\/core\//, contents: 'export {}' },
  // An engine over ssh is refused by name.
  { filter: /^ssh2$/, of: /\/docker-modem\//, contents: 'export {}' },
  // They build images, which agentctl never does.
  { filter: /^\.\/(session|buildkit)$/, of: /\/dockerode\//, contents: 'export {}' },
  { filter: /^(tar-fs|@balena\/dockerignore)$/, of: /\/dockerode\//, contents: 'export {}' },
]

const leaveOut: Plugin = {
  name: 'leave-out',
  setup({ onResolve, onLoad }) {
    absent.forEach(({ filter, of, contents }, index) => {
      onResolve({ filter }, ({ importer }) =>
        of.test(importer) ? { path: String(index), namespace: 'absent', sideEffects: false } : null,
      )
      onLoad({ filter: new RegExp(`^${index}$`), namespace: 'absent' }, () => ({ contents }))
    })
  },
}

/** As a namespace of its own `z` is whole; imported directly, what nobody uses of it is left out: half of it, at every start. */
const shakeZod: Plugin = {
  name: 'shake-zod',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      return { contents: text.replace(/^import \{ z \} from 'zod'$/m, "import * as z from 'zod'"), loader: 'ts' }
    })
  },
}

/** The one module of ours that acts by being imported. */
const acting = /\/no-inspector\.ts$/

/** Nothing else does: a module whose names nobody uses is left out, schemas of its own and all. */
const shakeOwn: Plugin = {
  name: 'shake-own',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path),
      sideEffects: acting.test(path),
    }))
  },
}

// CommonJS parts of the bundle call `require`, which an ES module has to make for itself.
const banner = "import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);"

/** What dist/ holds: the Action's two entries and the command line's. */
export const entries = { index: 'action/main.ts', post: 'action/post.ts', cli: 'cli/main.ts' }

/** Builds into a directory, koffi's binaries beside it; answers what went into each file. */
export async function bundle(outdir: string, entryPoints: Record<string, string> = entries): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    outdir,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    minify: true,
    legalComments: 'linked',
    banner: { js: banner },
    plugins: [leaveOut, shakeZod, shakeOwn],
    // Its ES modules, which parse and start sooner than the CommonJS that Node is given.
    alias: { yaml: join(root, 'node_modules/yaml/browser/index.js') },
    metafile: true,
    logLevel: 'warning',
  })
  await addNative(outdir)
  return metafile
}

/** Every file below a directory by its relative path. */
async function contentsOf(folder: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  const pairs = paths.map(async path => [relative(folder, path), await readFile(path)] as const)
  return new Map(await Promise.all(pairs))
}

/** Files that are missing, left over or different in `committed`, sorted. */
export async function differences(committed: string, built: string): Promise<string[]> {
  const [before, after] = await Promise.all([contentsOf(committed), contentsOf(built)])
  const names = [...new Set([...before.keys(), ...after.keys()])].sort()
  return names.filter(name => before.get(name)?.equals(after.get(name) ?? Buffer.alloc(0)) !== true || !after.has(name))
}

async function check(dist: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'agentctl-dist-'))
  try {
    await bundle(folder)
    const changed = await differences(dist, folder)
    if (changed.length === 0) return
    console.error(
      `dist/ is not what the source builds to: ${changed.join(', ')}\nRun \`npm run build\` and commit dist/.`,
    )
    process.exitCode = 1
  } finally {
    await rm(folder, { recursive: true })
  }
}

if (import.meta.main) {
  const dist = join(root, 'dist')
  const schemas = join(root, 'schemas')
  if (process.argv.includes('--check')) {
    const stale = await staleSchemas(schemas)
    if (stale.length > 0) {
      console.error(
        `schemas/ is not what the source gives: ${stale.join(', ')}\nRun \`npm run build\` and commit schemas/.`,
      )
      process.exitCode = 1
    }
    await check(dist)
  } else {
    await writeSchemas(schemas)
    await rm(dist, { recursive: true, force: true })
    await bundle(dist)
  }
}
