import { createScene, type Scene, write } from '../runner/support.ts'

/** Scenes of one test file, all gone after `dispose`. */
export function scenesOf(): { scene(files?: { [path: string]: string }): Scene; dispose(): void } {
  const scenes: Scene[] = []
  return {
    scene(files = {}) {
      const made = createScene(files)
      scenes.push(made)
      return made
    },
    dispose() {
      for (const made of scenes.splice(0)) made.dispose()
    },
  }
}

/** One write that nobody is asked about. */
export const writes = (place: string, policy: object = {}) => ({
  policy: { writableRoots: ['out'], approval: 'never', ...policy },
  actions: { write },
  tasks: [{ id: 'w', uses: 'action:write', with: { path: place, content: 'written' } }],
})

/** How a task that is denied or refused says so; empty where it succeeded. */
export function refusalOf(here: Scene, run: string): string {
  const [task] = here.ledger.store.snapshot(run)?.tasks ?? []
  return task?.error === null || task === undefined ? '' : `${task.error.code}: ${task.error.message}`
}
