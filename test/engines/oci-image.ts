import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { askEngine } from './api.ts'
import type { Engines } from './engines.ts'

/** Gives Podman an image of the base tree whose manifest carries annotations, which only OCI's format has; answers its id. */
export async function annotatedImage(
  { podman, directory, baseLayer }: Pick<Engines, 'podman' | 'directory' | 'baseLayer'>,
  name: string,
  annotations: { [name: string]: string },
): Promise<string> {
  const place = mkdtempSync(path.join(directory, 'oci-'))
  const blobs = path.join(place, 'oci/blobs/sha256')
  mkdirSync(blobs, { recursive: true })
  const put = (content: string | Buffer) => {
    const hash = createHash('sha256').update(content).digest('hex')
    writeFileSync(path.join(blobs, hash), content)
    return { digest: `sha256:${hash}`, size: Buffer.byteLength(content) }
  }
  const typed = (kind: string, content: string | Buffer) => ({
    mediaType: `application/vnd.oci.image.${kind}`,
    ...put(content),
  })
  try {
    const layer = typed('layer.v1.tar', readFileSync(baseLayer))
    const configuration = {
      architecture: { x64: 'amd64', arm64: 'arm64' }[process.arch as string],
      os: 'linux',
      config: { Env: ['PATH=/bin'], Labels: { name } },
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    }
    const config = typed('config.v1+json', JSON.stringify(configuration))
    const mediaType = 'application/vnd.oci.image.manifest.v1+json'
    const manifest = { schemaVersion: 2, mediaType, config, layers: [layer], annotations }
    const named = { 'org.opencontainers.image.ref.name': `localhost/${name}:latest` }
    const manifests = [{ ...typed('manifest.v1+json', JSON.stringify(manifest)), annotations: named }]
    writeFileSync(path.join(place, 'oci/oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
    writeFileSync(path.join(place, 'oci/index.json'), JSON.stringify({ schemaVersion: 2, manifests }))
    const archive = path.join(place, 'archive.tar')
    execFileSync('tar', ['-C', path.join(place, 'oci'), '-cf', archive, '.'])
    const type = { 'content-type': 'application/x-tar' }
    await askEngine(podman, 'POST', '/images/load?quiet=1', createReadStream(archive), type)
    return config.digest
  } finally {
    rmSync(place, { recursive: true })
  }
}
