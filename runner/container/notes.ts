import { mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { firstNames, ownIdentity } from '../process/containment/proc.ts'
import { checkPlace, registryPlaces } from '../process/containment/registry.ts'
import type { Engine } from './engine.ts'
import { ownerLabel } from './labels.ts'

/**
 * One line per agentctl that made containers: who it is, and on which engines. By it the next start knows that an engine is
 * to be asked, without asking any where nothing was left. Which containers are whose, the engine's labels say.
 */
export interface Note {
  file: string
  owner: string
  /** By their `key`. */
  engines: string[]
}

const maxNotes = 1_024
const maxBytes = 4_096
let own: Note | null = null
/** Containers that were made and not seen gone. */
let there = 0

/** Where notes are: beside the registry of processes. */
export function notePlaces(uid = process.geteuid?.() ?? -1): string[] {
  return registryPlaces(uid).map(place => path.join(path.dirname(place), 'containers'))
}

/** Before a container is made; why it could not be noted, null where it was. */
export function noteContainer({ key }: Pick<Engine, 'key'>, places = notePlaces()): string | null {
  there += 1
  const identity = ownIdentity()
  if (identity === null) return 'agentctl is not shown in /proc by its own pid'
  if (own?.engines.includes(key) === true) return null
  const engines = [...(own?.engines ?? []), key]
  const owner = ownerLabel(identity)
  let refusal = ''
  for (const place of places) {
    try {
      mkdirSync(place, { recursive: true, mode: 0o700 })
      checkPlace(place)
      const file = path.join(place, `${identity.pid}-${identity.start}`)
      const draft = path.join(place, `.${identity.pid}-${identity.start}`)
      writeFileSync(draft, [owner, ...engines, ''].join('\n'), { mode: 0o600 })
      renameSync(draft, file)
      if (own === null) process.once('exit', forgetOwn)
      own = { file, owner, engines }
      return null
    } catch (error) {
      refusal = error instanceof Error ? error.message : String(error)
    }
  }
  return refusal
}

/** A noted container was seen gone, or never made. */
export function forgetContainer(): void {
  there -= 1
}

/** While one is there the note stays, for the next start to find it. */
function forgetOwn(): void {
  if (own !== null && there === 0) forgetNote(own)
}

export function forgetNote({ file }: Note): void {
  try {
    unlinkSync(file)
  } catch {
    // Another agentctl forgot it.
  }
}

/** The notes of all agentctl processes of this user, this one's too; what is no note is passed over. */
export function readNotes(places = notePlaces()): Note[] {
  return places.flatMap(place => {
    try {
      checkPlace(place)
      return firstNames(place, maxNotes).names.flatMap(name => readNote(path.join(place, name)) ?? [])
    } catch {
      return []
    }
  })
}

function readNote(file: string): Note | null {
  try {
    const [owner = '', ...engines] = readFileSync(file, 'utf8').slice(0, maxBytes).split('\n').filter(Boolean)
    return engines.length === 0 ? null : { file, owner, engines }
  } catch {
    return null
  }
}
