import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { askEngine } from './api.ts'
import type { Engines, TestEngine } from './engines.ts'

/** What an image is made of: the base tree of every test image, more files on top, and its configuration. */
export interface ImageRecipe {
  name: string
  /** As Docker's image configuration has it: Env, User, Entrypoint, Volumes, Healthcheck, OnBuild ... */
  config?: { [key: string]: unknown }
  /** Puts more files below the given directory, owned by root. */
  files?: (root: string) => void
  /** A layer below that of `files`: whiteouts (`.wh.NAME`) of what the base tree has. */
  before?: ((root: string) => void) | undefined
}

/** An image as one engine knows it. */
export interface TestImage {
  /** `sha256:<64 hex>` */
  id: string
  /** `NAME@sha256:<64 hex>` */
  reference: string
}

const inspected = z.object({ Id: z.string(), RepoDigests: z.array(z.string()) })
const created = '2020-01-01T00:00:00Z'

/** Makes an image and puts it on both engines; the same recipe gives the same image each time. */
export async function makeImage(
  engines: Omit<Engines, 'busybox'>,
  recipe: ImageRecipe,
): Promise<{ docker: TestImage; podman: TestImage }> {
  const place = mkdtempSync(path.join(engines.directory, 'image-'))
  try {
    const name = `${engines.registry}/${recipe.name}`
    const archive = archiveOf(place, `${name}:latest`, engines.baseLayer, recipe)
    const [docker, podman] = await Promise.all([
      load(engines.docker, archive, name),
      load(engines.podman, archive, name),
    ])
    return { docker, podman }
  } finally {
    rmSync(place, { recursive: true })
  }
}

/** The base tree of every test image: busybox with its names, the probe tool, and no /workspace, /dev/shm or /run content. */
export function makeBaseLayer(directory: string): { baseLayer: string; probe: string } {
  const tree = path.join(directory, 'tree')
  for (const name of ['bin', 'etc', 'proc', 'sys', 'dev', 'run', 'var/tmp', 'root', 'tmp']) {
    mkdirSync(path.join(tree, name), { recursive: true })
  }
  execFileSync('chmod', ['1777', path.join(tree, 'tmp'), path.join(tree, 'var/tmp')])
  copyFileSync('/bin/busybox', path.join(tree, 'bin/busybox'))
  execFileSync('chroot', [tree, '/bin/busybox', '--install', '-s', '/bin'])
  writeFileSync(path.join(tree, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
  // What cannot be written is then not for want of a mode.
  writeFileSync(path.join(tree, 'etc/open'), 'as the image has it')
  chmodSync(path.join(tree, 'etc/open'), 0o666)
  writeFileSync(path.join(tree, 'etc/group'), 'root:x:0:\n')
  const probe = path.join(directory, 'probe')
  execFileSync('gcc', ['-static', '-O1', '-Wall', '-o', probe, path.join(import.meta.dirname, 'probe.c')])
  copyFileSync(probe, path.join(tree, 'bin/probe'))
  const baseLayer = path.join(directory, 'base.tar')
  pack(tree, baseLayer)
  rmSync(tree, { recursive: true })
  return { baseLayer, probe }
}

/** An archive as `docker save` writes it, which both engines load with the configuration byte for byte. */
function archiveOf(place: string, tag: string, baseLayer: string, recipe: ImageRecipe): string {
  const staged = path.join(place, 'archive')
  mkdirSync(staged)
  linkSync(baseLayer, path.join(staged, 'base.tar'))
  const layers = ['base.tar']
  for (const [name, files] of Object.entries({ before: recipe.before, files: recipe.files })) {
    if (files === undefined) continue
    const tree = path.join(place, name)
    mkdirSync(tree)
    files(tree)
    pack(tree, path.join(staged, `${name}.tar`))
    layers.push(`${name}.tar`)
  }
  const config = JSON.stringify({
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    created,
    config: { Env: ['PATH=/bin'], ...recipe.config },
    rootfs: {
      type: 'layers',
      diff_ids: layers.map(layer => `sha256:${sha256(readFileSync(path.join(staged, layer)))}`),
    },
    history: layers.map(layer => ({ created, created_by: layer })),
  })
  const configName = `${sha256(config)}.json`
  writeFileSync(path.join(staged, configName), config)
  const manifest = [{ Config: configName, RepoTags: [tag], Layers: layers }]
  writeFileSync(path.join(staged, 'manifest.json'), JSON.stringify(manifest))
  pack(staged, path.join(place, 'archive.tar'))
  return path.join(place, 'archive.tar')
}

/** Docker knows a digest of an image only after it was pushed. */
async function load(engine: TestEngine, archive: string, name: string): Promise<TestImage> {
  const tar = { 'content-type': 'application/x-tar' }
  await askEngine(engine, 'POST', '/images/load?quiet=1', createReadStream(archive), tar)
  if (engine.kind === 'docker') {
    const said = await askEngine(engine, 'POST', `/images/${name}/push?tag=latest`, '', { 'x-registry-auth': 'e30=' })
    if (said.includes('"error"')) throw new Error(`push of ${name}: ${said}`)
  }
  const { Id, RepoDigests } = inspected.parse(JSON.parse(await askEngine(engine, 'GET', `/images/${name}:latest/json`)))
  const [reference] = RepoDigests
  if (reference === undefined) throw new Error(`${engine.kind} knows no digest of ${name}`)
  return { id: Id.startsWith('sha256:') ? Id : `sha256:${Id}`, reference }
}

function pack(tree: string, archive: string): void {
  const same = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=${created}`, '--format=gnu']
  execFileSync('tar', [...same, '-C', tree, '-cf', archive, '.'])
}

function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
