import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

const here = import.meta.dirname
const root = path.resolve(here, '../../..')

export interface Seed {
  name: string
  text: string
}

/** Documents that fuzzing starts from, with those in `folders`: our own, and every example; finds are added to `seeds/`. */
export function seeds(folders: readonly string[] = []): Seed[] {
  const places = [path.join(here, '../seeds/*.yaml'), path.join(root, 'examples/**/*.yaml')]
  const more = folders.map(folder => path.join(folder, '*.yaml'))
  return [...places, ...more]
    .flatMap(pattern => globSync(pattern))
    .sort()
    .map(file => ({ name: path.basename(file), text: readFileSync(file, 'utf8') }))
}
