import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkout } from '../git.ts'
import type { World } from '../world.ts'
import type { JobPlaces } from './environment.ts'
import type { JobAttempt, WorkflowRun } from './state.ts'

/** Makes the job attempt's own directories, the event file and the checkout; nothing is shared with any other attempt. */
export function preparePlaces(world: World, run: WorkflowRun, job: JobAttempt, directory: string): JobPlaces {
  const root = join(directory, `job-${job.id}`)
  const { name, owner } = run.repository
  const temp = join(root, '_temp')
  const places = {
    workspace: join(root, '_work', name, name),
    temp,
    tools: join(root, '_tool'),
    home: join(root, 'home'),
    eventPath: join(temp, '_github_workflow', 'event.json'),
  }
  const below = ['_github_workflow', '_runner_file_commands'].map(part => join(temp, part))
  for (const made of [places.workspace, places.tools, places.home, ...below]) mkdirSync(made, { recursive: true })
  writeFileSync(places.eventPath, JSON.stringify(run.payload))
  job.workspace = places.workspace
  job.temp = temp
  if (job.definition.checkout === false) return places
  const commit = run.repository.commits.get(run.sha)
  if (!commit) throw new Error(`run ${run.id}: commit ${run.sha} is gone`)
  const branch = run.ref.startsWith('refs/heads/') ? run.ref.slice('refs/heads/'.length) : null
  checkout(commit, places.workspace, branch, `${world.serverUrl}/${owner.login}/${name}`)
  return places
}
