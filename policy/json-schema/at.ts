import { schemaLimits } from './limits.ts'

/** Where in the value; `quiet` where a mismatch is no error yet, within `anyOf` and the like. */
export interface At {
  above: At | null
  step: string | number
  quiet: boolean
}

export const start: At = { above: null, step: '', quiet: false }

export function below(at: At, step: string | number): At {
  return { above: at, step, quiet: at.quiet }
}

export function quiet(at: At): At {
  return at.quiet ? at : { ...at, quiet: true }
}

/** JSON pointer, cut where it is long. */
export function pointerOf(at: At): string {
  const steps: string[] = []
  for (let one: At | null = at; one !== null && one.above !== null; one = one.above) steps.push(escaped(one.step))
  return shortened(steps.reverse().join(''))
}

/** One step of a JSON pointer. */
export function escaped(step: string | number): string {
  return `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

export function shortened(text: string): string {
  const { shownCharacters: most } = schemaLimits
  return text.length <= most ? text : `${text.slice(0, most)}...`
}
