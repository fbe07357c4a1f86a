import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Workflow } from '../github/index.ts'
import { type Scene, startScene } from '../harness/scene.ts'

const examples = resolve(import.meta.dirname, '../../examples/release')
export const releasePath = '.github/workflows/release.yml'
export const deniedPath = '.github/workflows/denied.yml'

function workflow(name: string, path: string, document: string, controlPlane: string): Workflow {
  return {
    name,
    path,
    on: ['workflow_dispatch'],
    inputs: { 'agentctl-run': { required: false, default: '' } },
    permissions: { contents: 'read', 'id-token': 'write', issues: 'write' },
    jobs: {
      [name]: {
        steps: [{ id: 'agentctl', uses: 'agentctl', with: { workflow: document, 'control-plane-url': controlPlane } }],
      },
    },
  }
}

/** A repository with the example's documents and the two workflows that run them. */
export async function stage(engine: 'node' | 'worker'): Promise<Scene> {
  const read = (name: string) => readFile(join(examples, name), 'utf8')
  const [release, denied, changelog] = await Promise.all([
    read('release.yaml'),
    read('denied.yaml'),
    read('CHANGELOG.md'),
  ])
  const scene = await startScene({
    engine,
    workflow: controlPlane => workflow('release', releasePath, '.agentctl/release.yaml', controlPlane),
    repository: {
      files: { 'CHANGELOG.md': changelog, '.agentctl/release.yaml': release, '.agentctl/denied.yaml': denied },
    },
  })
  scene.repository.addWorkflow(workflow('denied', deniedPath, '.agentctl/denied.yaml', scene.controlPlane.url))
  return scene
}
